"""Verbs that write web pages."""

from __future__ import annotations

import argparse
from pathlib import Path

from elmokit.cli.verb import Parser, add_column, check_needed, given


def _add_demo(parser: Parser) -> None:
    parser.option("--html", "where to write the page (default: %(default)s)", type=Path, default=Path("demo.html"))
    parser.option("--model M", "name of a bundled model, or a model folder (default: small-en)")


def _demo(arguments: argparse.Namespace) -> None:
    """Show what contextual vectors know about words with several senses; works offline, writes a web page."""
    from elmokit.web.demo import demo

    demo.run(arguments.html, model=arguments.model)


def _add_explore(parser: Parser) -> None:
    parser.option(
        "-o, --output SITE", "write the pages into a new folder, for a web server, in place of opening them", type=Path
    )
    parser.option("--model M", "name of a bundled model, or one of at most 40 M parameters (default: small-en)")
    parser.option(
        "--corpus FILE",
        "text to search in, one sentence per line: plain, .gz or .xz; several files are told apart by colour; "
        ".tsv files have senses of tokens, too",
        type=Path,
        nargs="+",
        default=[],
    )
    parser.option("--tokenize", "with --corpus: split its lines into tokens (default: at spaces)")
    add_column(parser)
    parser.option("--umap", "compute maps of frequent words by UMAP, too (needs elmokit[umap])")
    parser.option("--port N", "port on this machine (default: a free one)", type=int, default=0)
    parser.option("--no-browser", "print the address without opening a browser")


def _explore(arguments: argparse.Namespace) -> None:
    """Open a page that runs a model in the browser: nearest contexts, maps, what it expects; nothing leaves it."""
    import shlex
    import tempfile
    import webbrowser
    from contextlib import suppress

    from elmokit.files.atomic import temporary_folder
    from elmokit.web.explore.server import address, serve
    from elmokit.web.explore.site import write_site

    check_needed(arguments, "--tokenize", "--corpus")
    check_needed(arguments, "--column", "--corpus")

    def write(folder: Path) -> Path:
        how = given(arguments, "model", "column", "umap")
        return write_site(folder, corpora=arguments.corpus, raw_text=arguments.tokenize, **how)

    if arguments.output:
        print(f"{write(arguments.output)}; browsers refuse it as a file, so serve its folder:")
        print(shlex.join(["python", "-m", "http.server", "--directory", str(arguments.output)]))
        return
    with temporary_folder(Path(tempfile.gettempdir(), "elmokit-explore")) as folder:
        folder.chmod(0o700)  # as the text may be nobody else's business
        site = folder / "site"
        with serve(site, port=arguments.port) as server:  # first, since a port may be taken
            write(site)
            print(f"{address(server)} (Ctrl-C ends it)", flush=True)
            with suppress(KeyboardInterrupt):
                if not arguments.no_browser:
                    webbrowser.open(address(server))
                server.serve_forever()


VERBS = (("demo", _add_demo, _demo), ("explore", _add_explore, _explore))
