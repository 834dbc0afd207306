"""The workbook that asks the service by itself: Power Query to revenue, position and statement; settings in cells.

Queries lie in a workbook as MS-QDEFF describes: a binary stream in a custom XML part, which openpyxl does not write.
Connections and query tables, which say on which sheet the rows of a query go, are parts that it does not write either.
"""

from __future__ import annotations

import base64
import io
import re
import struct
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

_FIRST_TIME: Final = (1980, 1, 1, 0, 0, 0)
_XML: Final = '<?xml version="1.0" encoding="utf-8"?>'
_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONSHIPS: Final = "http://schemas.openxmlformats.org/package/2006/relationships"
_CONTENT_TYPES: Final = "http://schemas.openxmlformats.org/package/2006/content-types"
_OF_DOCUMENTS: Final = "http://schemas.openxmlformats.org/officeDocument/2006"
_MASHUP: Final = "http://schemas.microsoft.com/DataMashup"
_SPREADSHEET: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_ROWS: Final = "SELECT * FROM [{}]"
_ITEM_ID: Final = "{6B1A9D0E-6A5E-4C8B-9A55-0C1E2F0B7A11}"


@dataclass(frozen=True, slots=True)
class Query:
    """A table of the service: where it is read, with what of the settings, and its columns."""

    name: str
    path: str
    """With the names of settings in braces."""
    parameters: Mapping[str, str]
    """Of the query string: each the name of a setting in braces, or a text."""
    columns: Sequence[str]
    texts: Sequence[str] = ()
    """The columns that are neither a time nor a number."""

    def formula(self) -> str:
        """In Power Query's language M. Everything is in one query: one that refers to another may read no source."""
        fields = ", ".join(f"#{quoteattr(name)} = {_write_text(value)}" for name, value in self.parameters.items())
        texts = ", ".join(f'"{name}"' for name in self.texts)
        return _FORMULA.format(path=_write_text(self.path), fields=fields, texts=texts)


_FORMULA: Final = """let
    Setting = (name as text) as text =>
        let cell = Excel.CurrentWorkbook(){{[Name = "gridloom_" & name]}}[Content]{{0}}[Column1]
        in if cell = null then "" else Text.Trim(Text.From(cell)),
    Answer = Web.Contents(Setting("url"), [
        RelativePath = {path},
        Query = [{fields}],
        Headers = [Authorization = "Bearer " & Setting("key"), Accept = "text/csv"]
    ]),
    Rows = Csv.Document(Answer, [Delimiter = ",", Encoding = 65001, QuoteStyle = QuoteStyle.Csv]),
    Named = Table.PromoteHeaders(Rows, [PromoteAllScalars = true]),
    Types = List.Transform(Table.ColumnNames(Named), each
        if _ = "time" then {{_, type datetimezone}}
        else if List.Contains({{{texts}}}, _) then {{_, type text}}
        else {{_, type number}}),
    Typed = Table.TransformColumnTypes(Named, Types, "en-US")
in
    Typed"""


def _write_text(text: str) -> str:
    """A text of M with what the settings say: `assets/{asset}` as `"assets/" & Setting("asset")`."""
    parts = re.split(r"\{(\w+)\}", text)
    written = [f'Setting("{part}")' if place % 2 else f'"{part}"' for place, part in enumerate(parts) if part]
    return " & ".join(written)


_WINDOW: Final = {"start": "{start}", "end": "{end}"}
_PRODUCTS: Final = ("wholesale", "fcr", "afrr_capacity", "afrr_energy", "tolling", "vba")
_CATEGORIES: Final = ("revenue_total_revenue", *(f"revenue_{product}" for product in _PRODUCTS))
QUERIES: Final = (
    Query(
        "Revenue",
        "revenue-reporting/virtual-assets/{asset}/data-points",
        {**_WINDOW, "resolution": "{resolution}", "datapoints": ",".join(_CATEGORIES)},
        ("time", *_CATEGORIES),
    ),
    Query(
        "Position",
        "organisations/{organisation}/virtual-assets/{asset}/position",
        _WINDOW,
        (
            *("time", "bought", "sold", "scheduled", "netted", "activated", "delivered", "open"),
            *("imbalancePrice", "imbalanceCost"),
        ),
    ),
    Query(
        "Statement",
        "revenue-reporting/virtual-assets/{asset}/statement",
        {**_WINDOW, "resolution": "{resolution}"},
        ("time", "line", "amount", "counterparty", "counterpartyName", "assumedEnergy"),
        ("line", "counterparty", "counterpartyName"),
    ),
)
SETTINGS: Final = {
    "url": "Address of the service",
    "key": "API key: paste it here, with Read:revenue and Read:virtual-assets, and keep the file to yourself",
    "organisation": "Organisation that holds the virtual battery, its id",
    "asset": "Virtual battery, its id",
    "start": "From when, such as 2026-11-01T00:00:00+01:00",
    "end": "Until when",
    "resolution": "Of revenue and statement: 15-minute, hourly or daily",
}


def write_query_workbook(settings: Mapping[str, str]) -> bytes:
    """The workbook with these settings; without a key, which its user pastes. The same settings are the same bytes."""
    parts = _read_parts(_write_sheets(settings))
    parts |= _list_query_parts()
    _join_parts(parts)
    return _zip_parts(parts)


def _zip_parts(parts: Mapping[str, bytes]) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as written:
        for name, part in parts.items():
            written.writestr(zipfile.ZipInfo(name, _FIRST_TIME), part, zipfile.ZIP_DEFLATED)
    return body.getvalue()


def _write_sheets(settings: Mapping[str, str]) -> bytes:
    """Sheets, named cells and tables, as openpyxl writes them."""
    from openpyxl import Workbook
    from openpyxl.styles import Font
    from openpyxl.utils import absolute_coordinate
    from openpyxl.workbook.defined_name import DefinedName

    book = Workbook()
    first = book.worksheets[0]
    first.title = "Settings"
    for row, (name, meaning) in enumerate(SETTINGS.items(), start=1):
        first.append([name, settings.get(name, ""), meaning])
        first.cell(row, 2).number_format = "@"
        book.defined_names[f"gridloom_{name}"] = DefinedName(f"gridloom_{name}", attr_text=f"Settings!$B${row}")
    for column, width in (("A", 14), ("B", 60), ("C", 90)):
        first.column_dimensions[column].width = width
    for query in QUERIES:
        sheet = book.create_sheet(query.name)
        sheet.append(list(query.columns))
        sheet.freeze_panes = "A2"
        sheet.add_table(_make_table(query, sheet))
        place = f"{query.name}!{absolute_coordinate(sheet.tables[query.name].ref)}"
        name = f"ExternalData_{QUERIES.index(query) + 1}"
        sheet.defined_names[name] = DefinedName(name, attr_text=place, hidden=True)
    last = book.create_sheet("Queries")
    last.append(["Query", "Formula (M), for Data > Get Data > Blank Query > Advanced Editor"])
    last["A1"].font = last["B1"].font = Font(bold=True)
    for query in QUERIES:
        last.append([query.name, query.formula()])
    body = io.BytesIO()
    book.save(body)
    return body.getvalue()


def _make_table(query: Query, sheet: Any) -> Any:
    from openpyxl.utils import get_column_letter
    from openpyxl.worksheet.filters import AutoFilter
    from openpyxl.worksheet.table import Table, TableColumn, TableStyleInfo

    for number in range(1, len(query.columns) + 1):
        sheet.column_dimensions[get_column_letter(number)].width = 24
    place = f"A1:{get_column_letter(len(query.columns))}2"
    return Table(
        displayName=query.name,
        ref=place,
        tableType="queryTable",
        autoFilter=AutoFilter(ref=place),
        tableColumns=[
            TableColumn(id=number, name=name, uniqueName=str(number), queryTableFieldId=number)
            for number, name in enumerate(query.columns, start=1)
        ],
        tableStyleInfo=TableStyleInfo(name="TableStyleMedium7", showRowStripes=True),
    )


def _read_parts(workbook: bytes) -> dict[str, bytes]:
    """The workbook's parts, without the time at which they were written."""
    with zipfile.ZipFile(io.BytesIO(workbook)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    times = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")
    parts["docProps/core.xml"] = times.sub(rb"\g<1>1980-01-01T00:00:00Z", parts["docProps/core.xml"])
    return parts


def _list_query_parts() -> dict[str, bytes]:
    """The queries, their connections, and where their rows go."""
    mashup = base64.b64encode(_write_mashup()).decode()
    item = f'<?xml version="1.0" encoding="utf-16"?><DataMashup xmlns="{_MASHUP}">{mashup}</DataMashup>'
    custom_xml = f"{_OF_DOCUMENTS}/customXml"
    parts = {
        "customXml/item1.xml": item.encode("utf-16"),
        "customXml/itemProps1.xml": (
            f'{_XML}<ds:datastoreItem ds:itemID="{_ITEM_ID}" xmlns:ds="{custom_xml}">'
            f'<ds:schemaRefs><ds:schemaRef ds:uri="{_MASHUP}"/></ds:schemaRefs></ds:datastoreItem>'
        ).encode(),
        "customXml/_rels/item1.xml.rels": _write_relationship(
            f"{_OF_DOCUMENTS}/relationships/customXmlProps", "itemProps1.xml"
        ),
        "xl/connections.xml": _write_connections(),
    }
    for number, query in enumerate(QUERIES, start=1):
        parts[f"xl/queryTables/queryTable{number}.xml"] = _write_query_table(number, query)
        parts[f"xl/tables/_rels/table{number}.xml.rels"] = _write_relationship(
            f"{_OF_DOCUMENTS}/relationships/queryTable", f"../queryTables/queryTable{number}.xml"
        )
    return parts


def _write_relationship(kind: str, target: str) -> bytes:
    relationship = f'<Relationship Id="rId1" Type="{kind}" Target="{target}"/>'
    return f'{_XML}<Relationships xmlns="{_RELATIONSHIPS}">{relationship}</Relationships>'.encode()


def _write_connections() -> bytes:
    connections = "".join(
        f'<connection id="{number}" keepAlive="1" name="Query - {query.name}" type="5" refreshedVersion="7"'
        f' saveData="1" description="Connection to the \'{query.name}\' query in the workbook.">'
        '<dbPr connection="Provider=Microsoft.Mashup.OleDb.1;Data Source=$Workbook$;'
        f'Location={query.name};Extended Properties=&quot;&quot;" command="{_ROWS.format(query.name)}"/></connection>'
        for number, query in enumerate(QUERIES, start=1)
    )
    return f'{_XML}<connections xmlns="{_MAIN}">{connections}</connections>'.encode()


def _write_query_table(number: int, query: Query) -> bytes:
    fields = "".join(
        f'<queryTableField id="{place}" name="{name}" tableColumnId="{place}"/>'
        for place, name in enumerate(query.columns, start=1)
    )
    count = len(query.columns)
    return (
        f'{_XML}<queryTable xmlns="{_MAIN}" name="ExternalData_{number}" connectionId="{number}" autoFormatId="16"'
        ' applyNumberFormats="0" applyBorderFormats="0" applyFontFormats="0" applyPatternFormats="0"'
        f' applyAlignmentFormats="0" applyWidthHeightFormats="0"><queryTableRefresh nextId="{count + 1}">'
        f'<queryTableFields count="{count}">{fields}</queryTableFields></queryTableRefresh></queryTable>'
    ).encode()


def _join_parts(parts: dict[str, bytes]) -> None:
    """Name the new parts where a reader looks for them: among the types, and as relations of the workbook."""
    kinds = {"/xl/connections.xml": f"{_SPREADSHEET}.connections+xml"}
    kinds |= {f"/xl/queryTables/queryTable{n}.xml": f"{_SPREADSHEET}.queryTable+xml" for n in (1, 2, 3)}
    kinds["/customXml/itemProps1.xml"] = "application/vnd.openxmlformats-officedocument.customXmlProperties+xml"
    types = "".join(f'<Override PartName="{name}" ContentType="{kind}"/>' for name, kind in kinds.items())
    _insert_text(parts, "[Content_Types].xml", types, "</Types>")
    targets = {"connections": "connections.xml", "customXml": "../customXml/item1.xml"}
    relations = "".join(
        f'<Relationship Id="rIdQuery{number}" Type="{_OF_DOCUMENTS}/relationships/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets.items(), start=1)
    )
    _insert_text(parts, "xl/_rels/workbook.xml.rels", relations, "</Relationships>")


def _insert_text(parts: dict[str, bytes], name: str, text: str, before: str) -> None:
    start, end = parts[name].rsplit(before.encode(), 1)
    parts[name] = start + text.encode() + before.encode() + end


# --- MS-QDEFF --------------------------------------------------------------------------------------------------------


def _write_mashup() -> bytes:
    """Version, then four streams with their lengths: package, permissions, metadata, and the permissions' checksum.

    The checksum is encrypted for one user of one Windows. A reader that finds another one takes the default permissions
    (MS-QDEFF 2.6), which are those written here.
    """
    permissions = (
        "<PermissionList><CanEvaluateFuturePackages>false</CanEvaluateFuturePackages>"
        "<FirewallEnabled>true</FirewallEnabled></PermissionList>"
    )
    metadata = _write_metadata()
    empty = _zip_parts({})
    framed = struct.pack("<ii", 0, len(metadata)) + metadata + struct.pack("<i", len(empty)) + empty
    streams = (_write_package(), f"{_XML}{permissions}".encode(), framed, b"\0")
    return struct.pack("<i", 0) + b"".join(struct.pack("<i", len(stream)) + stream for stream in streams)


def _write_package() -> bytes:
    version = "<Version>2.99.202.0</Version><MinVersion>2.21.0.0</MinVersion><Culture>en-US</Culture>"
    types = '<Default Extension="xml" ContentType="text/xml"/><Default Extension="m" ContentType="application/x-ms-m"/>'
    shared = "\n\n".join(f"shared {query.name} = {query.formula()};" for query in QUERIES)
    return _zip_parts(
        {
            "Config/Package.xml": f"{_XML}<Package>{version}</Package>".encode(),
            "[Content_Types].xml": f'{_XML}<Types xmlns="{_CONTENT_TYPES}">{types}</Types>'.encode(),
            "Formulas/Section1.m": f"section Section1;\n\n{shared}".replace("\n", "\r\n").encode(),
        }
    )


def _write_metadata() -> bytes:
    entries = {
        "IsPrivate": "l0",
        "FillEnabled": "l1",
        "FillObjectType": "sTable",
        "FillToDataModelEnabled": "l0",
        "ResultType": "sTable",
        "BufferNextRefresh": "l1",
        "AddedToDataModel": "l0",
    }
    stable = "".join(f'<Entry Type="{name}" Value="{value}"/>' for name, value in entries.items())
    items = "".join(
        f"<Item><ItemLocation><ItemType>Formula</ItemType><ItemPath>Section1/{escape(query.name)}</ItemPath></ItemLocation>"
        f'<StableEntries>{stable}<Entry Type="FillTarget" Value="s{query.name}"/></StableEntries></Item>'
        for query in QUERIES
    )
    everything = "<Item><ItemLocation><ItemType>AllFormulas</ItemType><ItemPath/></ItemLocation><StableEntries/></Item>"
    whole = f"<LocalPackageMetadataFile><Items>{everything}{items}</Items></LocalPackageMetadataFile>"
    return f"{_XML}{whole}".encode()
