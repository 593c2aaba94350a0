//! Rules about objects that `pullwright migrate` refuses.

super::family! {
    "migrate", "objects that `pullwright migrate` refuses";

    KIND "kind" error
        "The file holds an object that is not an `ImageContentSourcePolicy`."
        "keep only ImageContentSourcePolicies in the file"
    NAME "name" error
        "The API server refuses the object's name."
        "use lower-case letters, digits, `-` and `.`"
    METADATA "metadata" error
        "A field of `metadata` has a value of the wrong type."
        "put numbers, true and false in quotes: labels and annotations are texts"
}
