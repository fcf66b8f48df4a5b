"""Shared fixtures: the real catalog where it is present, and a place without network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.paths import ROOT

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_EVALUATE_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the real catalog (FASHION_RQ_SHARED, else ../shared beside the repo)."""
    shared = Path(os.environ.get("FASHION_RQ_SHARED", ROOT.parent / "shared")) / "data"
    if not (shared / "fashion-dataset" / "styles.csv").is_file():
        pytest.skip(f"the real Myntra catalog is not at {shared}; set FASHION_RQ_SHARED")
    return shared


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    """Headless Chromium; it saves files to tmp_path/downloads."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("no Chromium with its chromedriver on this machine")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    downloads = {"download.default_directory": str(tmp_path / "downloads")}
    options.add_experimental_option("prefs", downloads)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(driver))
    yield found
    found.quit()
