"""Croissant metadata of an edition (the ML Commons format, version 1.0).

In:  the manifest of an edition and its tables' schemas.
Out: the JSON-LD of croissant.json: every data file with its SHA-256, and a record set per config
     with the type of every column.

Columns that hold lists of structs are described down to their leaves, as sub-fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from fashion_rq_bench.schema.tables import CONFIGS, schema_of

__all__ = ["croissant"]

_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def croissant(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """JSON-LD of an edition.

    Args:
        manifest: as in ``edition.json``.

    Returns:
        A dict whose JSON ``mlcroissant`` validates.
    """
    catalog = manifest["provenance"]["catalog"]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": f"fashion-rq-bench-{manifest['name']}",
        "description": "Fashion retrieval benchmark with graded relevance from a semantic-ID tree.",
        "version": "1.0.0",
        "citeAs": f"FASHION-RQBENCH {manifest['name']}, edition {manifest['id']}",
        "identifier": manifest["id"],
        "license": str(catalog["license"]),
        "isBasedOn": str(catalog["source"]),
        "distribution": [part for config in CONFIGS for part in _distribution(config, manifest)],
        "recordSet": [_record_set(config, manifest) for config in CONFIGS],
    }


def _distribution(config: str, manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The files of a config, and where there are several, the set of them."""
    names = manifest["configs"][config]["files"]
    files = [_file(name, manifest) for name in names]
    if len(names) == 1:
        return files
    shards = {
        "@type": "cr:FileSet",
        "@id": f"{config}-files",
        "name": f"{config}-files",
        "encodingFormat": "application/x-parquet",
        "includes": f"{config}/*.parquet",
    }
    return [*files, shards]


def _file(name: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    facts = manifest["files"][name]
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{facts['bytes']} B",
        "encodingFormat": "application/x-parquet",
        "sha256": facts["sha256"],
    }


def _record_set(config: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    files = manifest["configs"][config]["files"]
    fields = [
        _field(f"{config}/{field.name}", field.type, _source(config, files, field.name))
        for field in schema_of(config, manifest["dim"])
    ]
    return {"@type": "cr:RecordSet", "@id": config, "name": config, "field": fields}


def _source(config: str, files: list[str], column: str) -> dict[str, Any]:
    """A single file, or the set of a config's shards."""
    holder = (
        {"fileObject": {"@id": files[0]}}
        if len(files) == 1
        else {"fileSet": {"@id": f"{config}-files"}}
    )
    return {**holder, "extract": {"column": column}}


def _field(path: str, kind: pa.DataType, source: dict[str, Any]) -> dict[str, Any]:
    repeated = pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind)
    value = kind.value_type if repeated else kind
    field: dict[str, Any] = {"@type": "cr:Field", "@id": path, "name": path, "source": source}
    if repeated:
        field["repeated"] = True
    if not pa.types.is_struct(value):
        return {**field, "dataType": _data_type(value)}
    return {
        **field,
        "subField": [
            _field(f"{path}/{child.name}", child.type, _inside(source, child.name))
            for child in value
        ],
    }


def _inside(source: dict[str, Any], name: str) -> dict[str, Any]:
    steps = [*source.get("transform", []), {"jsonPath": name}]
    return {**source, "transform": steps}


def _data_type(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(kind) else "sc:Text"
