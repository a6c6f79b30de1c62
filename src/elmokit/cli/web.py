"""Commands that write web pages: demo and explore."""

from __future__ import annotations

import argparse
from pathlib import Path

from elmokit.cli.options import Parser, check_option, given


def add_demo(parser: Parser) -> None:
    page = "where to write the page (default: %(default)s)"
    parser.add_argument("--html", metavar="FILE", type=Path, default=Path("demo.html"), help=page)
    parser.add_argument("--model", metavar="M", help="name of a bundled model, or a model folder (default: small-en)")


def run_demo(arguments: argparse.Namespace) -> None:
    from elmokit.web.demo import run

    run(arguments.html, model=arguments.model)


def add_explore(parser: Parser) -> None:
    add = parser.add_argument
    add("-o", "--output", metavar="SITE", type=Path, help="write the pages into a new folder, for a web server")
    add("--model", metavar="M", help="name of a bundled model, or one of at most 40 M parameters (default: small-en)")
    corpus = "text to search in, one sentence per line; each file gets its own colour; .tsv files may label tokens"
    add("--corpus", metavar="FILE", type=Path, nargs="+", default=[], help=corpus)
    parser.add_flag("--tokenize", "with --corpus: split its lines into tokens (default: at spaces)")
    parser.add_column()
    sample = "also search the bundled sentences of this language (default: only for bundled models without --corpus)"
    add("--sample", choices=("en", "ko"), help=sample)
    parser.add_flag("--umap", "also compute maps of frequent words by UMAP (needs 'elmokit[umap]')")
    add("--port", metavar="N", type=int, default=0, help="port on this machine (default: a free one)")
    parser.add_flag("--no-browser", "print the address without opening a browser")


def run_explore(arguments: argparse.Namespace) -> None:
    import shlex
    import tempfile
    import webbrowser
    from contextlib import suppress

    from elmokit.files.atomic import temporary_folder
    from elmokit.web.explore.server import address, serve
    from elmokit.web.explore.site import write_site

    check_option(arguments, "--tokenize", needs="--corpus")
    check_option(arguments, "--column", needs="--corpus")

    def write(folder: Path) -> Path:
        how = given(arguments, "model", "column", "as_text", "umap", "sample")
        return write_site(folder, corpora=arguments.corpus, raw_text=arguments.tokenize, **how)

    if arguments.output:
        print(f"{write(arguments.output)}; browsers do not open it as a file, so serve its folder:")
        print(shlex.join(["python", "-m", "http.server", "--directory", str(arguments.output)]))
        return
    with temporary_folder(Path(tempfile.gettempdir(), "elmokit-explore")) as folder:
        folder.chmod(0o700)  # because the text may be private
        site = folder / "site"
        with serve(site, port=arguments.port) as server:  # first, because the port may be taken
            write(site)
            print(f"{address(server)} (Ctrl-C to stop)", flush=True)
            with suppress(KeyboardInterrupt):
                if not arguments.no_browser:
                    webbrowser.open(address(server))
                server.serve_forever()
