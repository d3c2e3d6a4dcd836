"""What a fitted estimator shows of itself in a notebook: scikit-learn's diagram, and below it what was found."""

from __future__ import annotations

from typing import Any

__all__ = ["Showing"]


class Showing:
    """Adds what was found to the diagram; `_found` names the fitted attribute that can show itself."""

    _found: str

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        """What IPython asks for: text, and HTML unless scikit-learn's `display` is "text"."""
        bundle: dict[str, Any] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        found = getattr(self, self._found, None)
        if "text/html" in bundle and found is not None:
            bundle["text/html"] += found._repr_html_()
        return bundle
