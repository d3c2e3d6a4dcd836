"""The page itself: one HTML file with style, scripts and data inside, and a policy that forbids all loading.

Every string that comes from users passes through `escape` (text) or `embed` (data): a column called
"</script><script>alert(1)" is shown as that, and would not run even if it were not, for the policy lists the
hashes of the two scripts that may.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from hedgerow.report.levels import slider
from hedgerow.report.markup import escape
from hedgerow.report.pack import pack
from hedgerow.report.payload import ReportPayload
from hedgerow.report.sections import sections_of
from hedgerow.writing import write_text

__all__ = ["report_html", "write_report"]

SCRIPTS = ("core.js", "tree.js", "scatter.js", "panel.js", "profiles.js", "flow.js", "charts.js", "similarity.js", "start.js")


def write_report(path: str | os.PathLike[str], payload: ReportPayload) -> Path:
    """Write the report as one HTML file, whole or not at all, and return its path."""
    write_text(path, report_html(payload), "report")
    return Path(path)


def report_html(payload: ReportPayload) -> str:
    """The whole page as text."""
    sections = sections_of(payload, asset("tree.html"))
    library = f"/*\n{asset('d3.LICENSE.txt')}\n*/\n{asset('d3.min.js')}"
    script = '"use strict";\n(() => {\n' + "\n".join(asset(name) for name in SCRIPTS) + "\n})();\n"
    style = asset("report.css")
    policy = [
        "default-src 'none'",
        "img-src data:",
        f"style-src {_hash(style)}",
        f"script-src {_hash(library)} {_hash(script)}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return Template(asset("page.html")).substitute(
        policy="; ".join(policy),
        title=escape(payload.title),
        style=style,
        links="".join(f'<a href="#{part.key}">{escape(part.name)}</a>' for part in sections),
        slider="" if payload.levels is None else slider(payload.levels),
        sections="\n".join(
            f'<section id="{part.key}" aria-labelledby="{part.key}-name">'
            f'<h2 id="{part.key}-name">{escape(part.name)}</h2>\n{part.body}\n</section>'
            for part in sections
        ),
        data=embed(pack(payload)),
        library=library,
        script=script,
    )


def embed(data: dict[str, Any]) -> str:
    """JSON that can neither end its script element nor start a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def asset(name: str) -> str:
    """The text of a file in assets/."""
    return (resources.files("hedgerow.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
