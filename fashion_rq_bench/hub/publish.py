"""Upload an edition or a metric to the Hub.

In:  an edition, or the name of a metric of this package; a repository id ``owner/name``; a token,
     else the one of ``HF_TOKEN`` or of the Hub's own login.
Out: a dataset or a Space on the Hub, and its address. From then on
     ``load_dataset("owner/name", "ranking")`` and ``evaluate.load("owner/name")`` work anywhere.

Only files that the edition's manifest lists are uploaded, after a check of their hashes: neither
``.work`` nor anything else in the folder. A token appears in no message.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from fashion_rq_bench.editions.edition import MANIFEST, Edition
from fashion_rq_bench.errors import ConfigError, FashionRQError
from fashion_rq_bench.hub.evaluate_plugin import metric_folders
from fashion_rq_bench.support.optional import require

if TYPE_CHECKING:
    from huggingface_hub import HfApi

__all__ = ["publish", "publish_metric"]

Result = TypeVar("Result")


def publish(
    edition: Edition, repo_id: str, *, token: str | None = None, private: bool = False
) -> str:
    """Upload an edition as a dataset; files of an earlier edition there are replaced.

    Args:
        edition: what to upload.
        repo_id: ``owner/name`` on the Hub; made if absent.
        token: with the right to write; see the module.
        private: whether a new repository is private; one that is there keeps what it is.

    Returns:
        The address of the dataset.

    Raises:
        EditionError: if a file of the edition is not as it was written.
        FashionRQError: if the Hub refuses or cannot be reached, with its answer.
    """
    edition.verify()
    names = [*edition.manifest["files"], MANIFEST]
    message = f"Edition {edition.name}, {edition.id}"
    return _upload(
        edition.path, repo_id, "dataset", names, message=message, token=token, private=private
    )


def publish_metric(
    name: str, repo_id: str, *, token: str | None = None, private: bool = False
) -> str:
    """Upload a metric of this package as a Space, by `evaluate`'s convention.

    Args:
        name: a metric's name, such as ``"attr_relevance"``.
        repo_id, token, private: as for :func:`publish`.

    Returns:
        The address of the Space.

    Raises:
        ConfigError: if there is no such metric.
        FashionRQError: if the Hub refuses or cannot be reached, with its answer.
    """
    folders = metric_folders()
    if name not in folders:
        raise ConfigError("There is no metric of this name.", given=name, allowed=sorted(folders))
    names = sorted(path.name for path in folders[name].iterdir() if path.is_file())
    message = f"Metric {name}"
    return _upload(
        folders[name], repo_id, "space", names, message=message, token=token, private=private
    )


def _upload(
    folder: Path,
    repo_id: str,
    kind: str,
    names: list[str],
    *,
    message: str,
    token: str | None,
    private: bool,
) -> str:
    """Create the repository if need be and put the named files there in one commit."""
    hub = require("huggingface_hub", "all")
    secret = token or hub.get_token()
    api: HfApi = hub.HfApi(token=secret, library_name="fashion-rq-bench")
    address = _asked(
        lambda: api.create_repo(
            repo_id,
            repo_type=kind,
            private=private,
            exist_ok=True,
            space_sdk="gradio" if kind == "space" else None,
        ),
        repo_id,
        secret,
    )
    _asked(
        lambda: api.upload_folder(
            repo_id=repo_id,
            folder_path=folder,
            repo_type=kind,
            allow_patterns=names,
            delete_patterns=["*.parquet"] if kind == "dataset" else None,
            commit_message=message,
        ),
        repo_id,
        secret,
    )
    return str(address)


def _asked(call: Callable[[], Result], repo_id: str, secret: str | None) -> Result:
    """Call the Hub; its refusals and the network's become one paragraph without the token."""
    transport_error = require("huggingface_hub.errors", "all").HTTPError  # of whichever httpx
    try:
        return call()
    except (OSError, ValueError, transport_error) as error:
        answer = " ".join(str(error).split())
        if secret:
            answer = answer.replace(secret, "(token)")
        raise FashionRQError(
            f"The Hub did not take the upload: {answer}",
            given=repo_id,
            fix="Check the repository's name (owner/name), the connection, and that HF_TOKEN or "
            "`hf auth login` gives a token with the right to write.",
        ) from None
