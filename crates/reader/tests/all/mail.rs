//! Mail messages.

use updraft_reader::{ReadOptions, read};

#[test]
fn a_message_with_parts_and_attachments_is_read() {
    let message = "From: =?utf-8?Q?Ren=C3=A9?= <r@example.org>\r\nTo: a@example.org\r\nSubject: =?UTF-8?B?R3LDvMOfZQ==?=\r\n =?UTF-8?Q?_aus_Oslo?=\r\n\
        MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"x;y\"\r\n\r\nold programs see this\r\n--x;y\r\n\
        Content-Type: multipart/alternative; boundary=z\r\n\r\n--z\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\
        Content-Transfer-Encoding: quoted-printable\r\n\r\nCaf=E9 is a very =\r\nlong line.\r\n--z\r\nContent-Type: text/html\r\n\r\n<p>HTML</p>\r\n--z--\r\n\
        --x;y\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename*=utf-8''l%C3%A4nder.csv\r\nContent-Transfer-Encoding: base64\r\n\r\nYSxiDQox\r\nLDIN\r\n--x;y--\r\n";
    let document = read(message.as_bytes(), "a.eml", &ReadOptions::default()).unwrap();
    let expected = "From: René <r@example.org>\nTo: a@example.org\nSubject: Grüße aus Oslo\n\nCafé is a very long line.\n\n\
                    ## Attachment: länder.csv\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n";
    assert_eq!(document.to_markdown(), expected);
    assert_eq!(document.blocks[5].place.to_string(), "länder.csv, line 1");
    assert_eq!(document.title.as_deref(), Some("Grüße aus Oslo"));
}

#[test]
fn a_page_is_read_where_there_is_no_plain_text() {
    let message = b"Subject: x\nContent-Type: text/html; charset=utf-8\n\n<h1>Hi</h1><p>there";
    let document = read(message, "a.eml", &ReadOptions::default()).unwrap();
    assert_eq!(document.to_markdown(), "Subject: x\n\n# Hi\n\nthere\n");
}
