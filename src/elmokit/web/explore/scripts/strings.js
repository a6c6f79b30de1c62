// The words of the page in the chosen language; {name} is replaced by a value.

export const LANGUAGES = ["en", "ko"];
const words = {};

/** Fetches the words of a language. Each language is a file. */
export async function fetchWords(language) {
  words[language] ??= (await import(`./strings-${language}.js`)).default;
}

/** A function that gives the words of a language: say("layer", { number: 1 }). say.parts() is for words with elements
    among them, say.sense() for the name of a sense (the bundled lists have English names). */
export function speaker(language) {
  const parts = (name, values = {}) => words[language][name].split(/\{(\w+)\}/).map((part, at) => (at % 2 ? values[part] : part));
  return Object.assign((name, values) => parts(name, values).join(""), { parts, sense: (name) => words[language].senses?.[name] ?? name });
}
