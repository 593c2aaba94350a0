#!/bin/sh
# Stands in for a credential provider plugin: whatever it is asked, it answers with the login in one file.
cat > /dev/null
read -r user password < /etc/kubernetes/stand-in.login
cat <<ANSWER
{"kind": "CredentialProviderResponse", "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
 "cacheKeyType": "Image", "cacheDuration": "0s",
 "auth": {"docker.io": {"username": "$user", "password": "$password"}}}
ANSWER
