"""Spreadsheets of others: XLSX, or a ZIP file with one in it, unpacked to no more than a true one holds."""

from __future__ import annotations

import io
import zipfile
from typing import Final

from gridloom.feeds.question import MEBIBYTE, AnswerTooLarge, UnexpectedAnswer, describe_body

MAX_UNPACKED: Final = 32 * MEBIBYTE
MAX_MEMBERS: Final = 200
_CONTENT_TYPES: Final = "[Content_Types].xml"


def open_spreadsheet(body: bytes) -> bytes:
    """The XLSX file, checked for its size before any of it is unpacked."""
    archive = _open_archive(body)
    names = archive.namelist()
    if _CONTENT_TYPES in names:
        _check_markup(archive)
        return body
    sheets = [name for name in names if name.lower().endswith(".xlsx")]
    if len(sheets) != 1:
        raise UnexpectedAnswer(f"The ZIP file holds {len(names)} files and {len(sheets)} spreadsheets, not one.")
    try:
        inner = archive.read(sheets[0])
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError):
        raise UnexpectedAnswer(f"{sheets[0][:80]!r} in the ZIP file cannot be unpacked.") from None
    _check_markup(_open_archive(inner))
    return inner


def _open_archive(body: bytes) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(io.BytesIO(body))
    except zipfile.BadZipFile:
        raise UnexpectedAnswer(f"The answer is no spreadsheet but {describe_body(body)}.") from None
    members = archive.infolist()
    unpacked = sum(member.file_size for member in members)
    if len(members) > MAX_MEMBERS or unpacked > MAX_UNPACKED:
        raise AnswerTooLarge(
            f"The spreadsheet unpacks to {unpacked} bytes in {len(members)} files; {MAX_UNPACKED} bytes are the limit."
        )
    return archive


def _check_markup(archive: zipfile.ZipFile) -> None:
    """Entities in its XML could unfold to any size, and are nothing that a spreadsheet has."""
    for name in archive.namelist():
        if not name.endswith((".xml", ".rels")):
            continue
        try:
            text = archive.read(name)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError):
            raise UnexpectedAnswer(f"{name[:80]!r} in the spreadsheet cannot be unpacked.") from None
        if b"\x00" in text:
            raise UnexpectedAnswer(f"{name[:80]!r} in the spreadsheet is not written in UTF-8.")
        if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
            raise UnexpectedAnswer("The spreadsheet declares a document type, which no true one does.")
