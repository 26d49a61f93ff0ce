"""Interactive pictures in a browser, without a network: the scripts, and pages that hold everything in one file."""

from flexibo.web.assets import SCRIPTS, STYLES, asset
from flexibo.web.pages import page, write_page
from flexibo.web.pictures import PICTURES, Picture

__all__ = ["PICTURES", "SCRIPTS", "STYLES", "Picture", "asset", "page", "write_page"]
