// Writes a few lines of Python that compute what the view shows.

/** The state, its chosen sentences and token, and the settings of the page -> lines of Python. */
export function asPython({ state, sentences, tokens, index, weights, settings }) {
  const write = { contexts, map, similarity, expectations, characters, tour }[state.tab];
  return write({ ...settings, ...state, sentences, tokens, index, layers: `[${weights.map((weight) => Number(weight.toFixed(4))).join(", ")}]` });
}

const quoted = (text) => JSON.stringify(text);
const split = (tokens) => `${quoted(tokens.join(" "))}.split(" ")`;
const start = (model, ...names) => [`from elmokit import ${["Elmo", ...names].sort().join(", ")}`, `elmo = Elmo(${quoted(model)})`];
const textOf = (sentences) => `text = [${sentences.map(split).join(", ")}]`;
const SAMPLE = "from elmokit.analysis.polysemes import LISTS, read_polysemes";

/** Arguments for reading the files in the same way. */
const reading = ({ isRawText, column }) => `${isRawText ? ", raw_text=True" : ""}${column ? `, column=${quoted(column)}` : ""}`;

/** Lines that read the sentences to search in: 0 is all of them, 1 the bundled sample, 2 the first file. */
function corpusOf({ source, paths, list, ...how }) {
  if (source === 1) return [SAMPLE, `corpus = [use.tokens for use in read_polysemes(LISTS[${quoted(list)}])]`];
  const chosen = paths.filter((_, at) => !source || at === source - 2).map((path) => `Path(${quoted(path)})`).join(", ");
  return ["from pathlib import Path", "from elmokit.web.explore.corpus import read_corpus",
    `read = read_corpus([${chosen}], ${list ? quoted(list) : "None"}${reading(how)})`, `corpus = read.sentences${source ? "[len(read.occurrences) :]" : ""}`];
}

function contexts({ model, tokens, index, number, among, layers, ...rest }) {
  const search = `elmo.nearest(${split(tokens)}, ${index}, corpus, number=${number}, among=${quoted(among)}, layers=${layers})`;
  return [...start(model), ...corpusOf(rest), `found = ${search}${among === "any" ? "" : "  # as it is spelt; the page ignores case"}`];
}

function map({ model, sentences, tokens, index, layers, picture, source, other, ...rest }) {
  const word = quoted(tokens[index].toLowerCase());
  if (picture === "corpora" && source > 1 && other > 1) {
    const paths = [source, other].map((from) => quoted(rest.paths[from - 2])).join(", ");
    return [...start(model, "ChangeSettings", "semantic_change"),
      `settings = ChangeSettings(layers=${layers}, ignore_case=True, min_uses=2${reading(rest)})`,
      `found = semantic_change(elmo, ${paths}, [${word}], settings).changes[0].distances`];
  }
  const chosen = picture === "umap" ? '"top"' : layers;
  const plane = picture === "umap"
    ? ["import umap", "plane = umap.UMAP(n_neighbors=15, metric=\"cosine\", random_state=0).fit_transform(vectors)"]
    : ["axes = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)", "plane = axes.U[:, :2] * axes.S[:2]  # up to its sign"];
  return ["import numpy as np", ...start(model), ...corpusOf({ source: picture === "corpora" ? 0 : source, ...rest }),
    ...(picture === "umap" ? [] : [textOf(sentences)]),
    `uses = [(tokens, at) for tokens in ${picture === "umap" ? "corpus" : "[*text, *corpus]"} for at, token in enumerate(tokens) if token.lower() == ${word}]`,
    ...(picture === "layers"
      ? ["layers = np.stack([elmo.encode([tokens], layers=\"all\")[0][:, at] for tokens, at in uses], axis=1)", "for vectors in layers:", `    ${plane[0]}`, `    ${plane[1]}`]
      : [`vectors = np.stack([elmo.encode([tokens], layers=${chosen})[0][at] for tokens, at in uses])`, ...plane])];
}

function similarity({ model, sentences, layers }) {
  return ["import numpy as np", ...start(model), textOf(sentences), `vectors = np.concatenate(elmo.encode(text, layers=${layers}))`, "found = elmo.similarity(vectors, vectors)"];
}

function expectations({ model, sentences, tokens, index, pair }) {
  const other = sentences[pair - 1];
  if (other && other !== tokens) {
    return [...start(model), `first, second = elmo.surprisal([${split(tokens)}, ${split(other)}])`,
      "for sentence in (first, second):", '    print(list(zip(sentence.tokens, sentence.bits("forward"), sentence.bits("backward"))))'];
  }
  return [...start(model, "SoftmaxDetails"), `(found,) = elmo.surprisal([${split(tokens)}], details=SoftmaxDetails(num_likeliest=10))`,
    `print(found.bits("forward")[${index}], found.forward.likeliest[${index}])`, `print(found.bits("backward")[${index}], found.backward.likeliest[${index + 1}])`];
}

function characters({ model, tokens, index, ...rest }) {
  return ["import numpy as np", ...start(model), ...corpusOf({ ...rest, source: 0 }),
    `words = list(dict.fromkeys(token for tokens in [[${quoted(tokens[index])}], *corpus] for token in tokens))`,
    "vectors = np.concatenate(elmo.encode([[word] for word in words], layers=0))", "cosines = elmo.similarity(vectors[:1], vectors[1:])[0]",
    "found = [(words[1 + at], float(cosines[at])) for at in np.argsort(-cosines)[:12]]"];
}

function tour({ model, list }) {
  return [...start(model), SAMPLE, "from elmokit.analysis.polysemy import measure_senses", `uses = read_polysemes(LISTS[${quoted(list)}])`,
    "found = measure_senses(elmo.encode([use.tokens for use in uses], layers=\"all\"), uses)", "print([f\"{rates.name} {rates.nearest_rate()}\" for rates in found])"];
}
