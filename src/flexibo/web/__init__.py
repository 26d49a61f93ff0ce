"""Interactive charts in a browser, without a network: the scripts that draw them, and pages in one HTML file.

`document` builds any such page; `page` builds one with the charts of a study.
"""

from flexibo.web.document import document, embedded_json, write_document
from flexibo.web.pages import CHARTS, SCRIPTS, STYLES, Chart, asset, page, write_page

__all__ = [
    "CHARTS",
    "SCRIPTS",
    "STYLES",
    "Chart",
    "asset",
    "document",
    "embedded_json",
    "page",
    "write_document",
    "write_page",
]
