"""Pictures and documents inside a body: base64 that decodes, and bytes that are what they are said to be."""

import base64
import binascii

from .refusal import Refused, expect

MAGIC = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
    "application/pdf": (b"%PDF-",),
}


def check_media(mime, data, where):
    """Refuses data that is not base64, or whose first bytes are not those of the type."""
    content = decoded(data, where)
    known = MAGIC.get(mime)
    expect(known or not mime.startswith("image/"), f"{where}: `{mime}` is no type of image that is taken")
    expect(not known or content.startswith(known), f"{where}: the bytes are not `{mime}`")
    expect(mime != "image/webp" or content[8:12] == b"WEBP", f"{where}: the bytes are not `{mime}`")


def check_data_url(url, where):
    """Refuses a `data:` URL that does not hold what it says; any other URL must be one of the web."""
    if not url.startswith("data:"):
        expect(url.startswith(("https://", "http://")), f"{where}: neither a `data:` URL nor one of the web")
        return
    head, comma, data = url.removeprefix("data:").partition(",")
    expect(comma and head.endswith(";base64"), f"{where}: expected `data:TYPE;base64,…`")
    check_media(head.removesuffix(";base64"), data, where)


def check_some_image(data, where):
    """For a dialect that names no type: the bytes must be some known image."""
    content = decoded(data, where)
    images = [magic for mime, known in MAGIC.items() if mime.startswith("image/") for magic in known]
    expect(content.startswith(tuple(images)), f"{where}: the bytes are no known image")


def decoded(data, where):
    """The bytes; empty ones are refused too."""
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Refused(f"{where}: not base64: {error}") from error
    expect(content, f"{where}: empty")
    return content
