//! Rules about mirror sets: `ImageDigestMirrorSet`, `ImageTagMirrorSet` and `ImageContentSourcePolicy`.

super::family! {
    "mirrors", "ImageDigestMirrorSet, ImageTagMirrorSet, ImageContentSourcePolicy, and how all of them are written";

    INVALID_SOURCE "invalid-source" error
        "The source is neither `host[:port][/path]` nor `*.host`, so the rule is rejected."
        "use host[:port][/path] with the path in lower case, or *.host"
    INVALID_MIRROR "invalid-mirror" error
        "A mirror is not `host[:port][/path]`, so it is left out."
        "use host[:port][/path] with the path in lower case"
    UNUSABLE_MIRROR "unusable-mirror" error
        "No image name can begin with this mirror (`mirror/team`, `index.docker.io`). It is left out, because it would fail every pull of the source, from every mirror."
        "use a host with a dot or a port in it, or localhost; docker.io instead of index.docker.io"
    NEVER_WITH_SOURCE "never-with-source" error
        "The rule has `NeverContactSource`, and the source among its mirrors. The source is never contacted."
        "remove the source from its mirrors, or remove the policy"
    POLICY_CONFLICT "policy-conflict" error_or_warning
        "Objects disagree about contacting a source, and `NeverContactSource` wins. It is an error if this rule says `AllowContactingSource`."
        "say the same in every object that names the source"
    ORDER_CONFLICT "order-conflict" warning
        "Two lists put the mirrors of a source in different orders, or only one of them names the source itself. Both authors are told."
        "put all mirrors of the source into one list, in the order you want"
    OTHER_KIND_REFUSED "other-kind-refused" warning
        "`NeverContactSource` also refuses pulls of the other kind (by tag, or by digest), and those have no mirror."
        "if such pulls are needed, name mirrors for them in an object of the other kind"
    BLOCKED_MIRROR "blocked-mirror" warning
        "A mirror is never asked, because its location is blocked."
        "remove the mirror, or what blocks it: blockedRegistries of Image/cluster, or NeverContactSource"
    HIDES_SOURCE "hides-source" warning
        "Only the most specific source applies: this one takes its images away from the mirrors, or from the `NeverContactSource`, of a wider one."
        "repeat the mirrors or the policy of the wider source here"
    HIDDEN_SOURCE "hidden-source" warning
        "The rule is never used, because nodes prefer a wildcard that is as long: `*.example.com` over `a.example.com`."
        "name the repositories below it as sources instead"
    NEVER_MATCHES "never-matches" warning
        "No image can have a name below the source, so the rule is never used."
        "use a host with a dot or a port in it, or localhost: names without a host are looked for on docker.io"
    OTHER_PORTS "other-ports" warning
        "Nodes apply the rule of `a.com` to `a.com:5000/x` as well. With a mirror that has a path or a port this gives no valid name, and every such pull fails. Public registries, which have one port, are not reported."
        "if images are named by another port, name it as a source with mirrors of its own"
    NO_REPOSITORY "no-repository" warning
        "The source may be a repository and its mirror is a host: `quay.io/team/app` at `k.io`. Pulls of the repository itself fail; those below it do not."
        "write the mirror as a repository, too"
    PORT_BELOW_WILDCARD "port-below-wildcard" warning
        "A mirror with a path or a port does not serve a source with a port inside its wildcard."
        "name that source in a rule of its own, with its own mirrors"
    NO_MIRRORS "no-mirrors" warning
        "A rule without mirrors does nothing, not even with a policy."
        "name a mirror, or remove the rule; blockedRegistries of Image/cluster forbids a source"
    DUPLICATE_MIRROR "duplicate-mirror" warning
        "The list names a mirror twice. The first place counts."
        "name it once"
    KIND "kind" error
        "Nothing reads objects of this kind."
        "write an ImageDigestMirrorSet, whose list is imageDigestMirrors"
    API_VERSION "api-version" error
        "The API server does not serve this kind in this `apiVersion`."
        "write the apiVersion that serves the kind"
    NAME "name" error
        "The API server refuses the object's name, or the object has no effect under this name."
        "use lower-case letters, digits, `-` and `.`; an Image has to be called cluster"
    REQUIRED "required" error
        "A required field is missing, so the API server refuses the object."
        "add the field"
    TYPE "type" error
        "A field has a value of the wrong type, so the API server refuses the object."
        "write a value of the expected type"
    POLICY_VALUE "policy-value" error
        "`mirrorSourcePolicy` has a value that the API server refuses."
        "use NeverContactSource or AllowContactingSource"
    UNKNOWN_FIELD "unknown-field" error
        "The API has no field of this name. The API server drops it, and kubectl refuses the object."
        "correct the spelling, or remove the field"
    DUPLICATE_FIELD "duplicate-field" error
        "A field is set twice in one map, so the object is refused."
        "remove one of the two, or add the dash that begins a new item of the list"
    REPLACED "replaced" error
        "A later object of the same kind and name replaces this one."
        "give each object a name of its own, or remove one"
}
