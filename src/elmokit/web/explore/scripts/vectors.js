// Vectors of a weighted sum of layers, their inner products and cosines, and the plane in which they differ most.

/** Equation 1 of the paper for tokens, without gamma: the weighted sum of the layers (tokens, dim). */
export function mix(layers, weights) {
  const mixed = new Float32Array(layers[0].length);
  layers.forEach((layer, index) => {
    const weight = weights[index];
    if (weight !== 0) for (let at = 0; at < mixed.length; at++) mixed[at] += weight * layer[at];
  });
  return mixed;
}

export function row(vectors, index, dim) {
  return vectors.subarray(index * dim, (index + 1) * dim);
}

export function dot(one, other) {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += one[at] * other[at];
  return sum;
}

/** The cosine of two vectors; 0 if one of them is zero. */
export function cosine(one, other) {
  const lengths = Math.sqrt(dot(one, one) * dot(other, other));
  return lengths > 0 ? dot(one, other) / lengths : 0;
}

/** Inner products of vectors in all their layers. They give those of any mix of the layers, without the vectors. */
export class Products {
  /** places: for each vector, its layers. */
  static of(places) {
    const sum = ([one, other]) => (i, j) => dot(places[i][one], places[j][other]) + (one === other ? 0 : dot(places[i][other], places[j][one]));
    return new Products(places.length, pairs(places[0]?.length ?? 0).map((pair) => symmetric(places.length, sum(pair))));
  }

  /** products: for each pair of layers, inner products of every two vectors, row by row; both ways if layers differ. */
  constructor(count, products) {
    Object.assign(this, { count, products });
  }

  /** Inner products (count, count) of the vectors of a mix, row by row. */
  mixed(weights) {
    const mixed = new Float64Array(this.count ** 2);
    pairs(weights.length).forEach(([one, other], pair) => {
      const weight = weights[one] * weights[other];
      const products = this.products[pair];
      if (weight !== 0) for (let at = 0; at < mixed.length; at++) mixed[at] += weight * products[at];
    });
    return mixed;
  }
}

/** All pairs of layers, each once: [0, 0], [0, 1], ... */
export const pairs = (numLayers) => Array.from({ length: numLayers }, (_, one) => Array.from({ length: numLayers - one }, (_, at) => [one, one + at])).flat();

function symmetric(count, entry) {
  const matrix = new Float64Array(count * count);
  for (let i = 0; i < count; i++) for (let j = i; j < count; j++) matrix[i * count + j] = matrix[j * count + i] = entry(i, j);
  return matrix;
}

/** Cosines (count, count) from inner products; 0 for a zero vector. */
export function cosines(products, count) {
  const lengths = Float64Array.from({ length: count }, (_, at) => Math.sqrt(products[at * count + at]));
  return symmetric(count, (i, j) => (lengths[i] && lengths[j] ? products[i * count + j] / (lengths[i] * lengths[j]) : 0));
}

/** Coordinates [x, y] of each vector along the two directions of largest variance, from inner products, and each
    direction's share of the variance; the shares are null if all vectors are the same. */
export function principalPlane(products, count) {
  const sums = Float64Array.from({ length: count }, (_, i) => products.subarray(i * count, (i + 1) * count).reduce((sum, value) => sum + value, 0));
  const all = sums.reduce((sum, value) => sum + value, 0);
  const centred = symmetric(count, (i, j) => products[i * count + j] - (sums[i] + sums[j]) / count + all / count ** 2);
  const trace = (matrix) => Array.from({ length: count }, (_, at) => matrix[at * count + at]).reduce((sum, value) => sum + value, 0);
  const total = trace(centred);
  if (total <= 1e-9 * trace(products)) return { points: Array.from({ length: count }, () => [0, 0]), shares: null };
  const first = largestAxis(centred, count);
  const second = largestAxis(symmetric(count, (i, j) => centred[i * count + j] - first.value * first.vector[i] * first.vector[j]), count);
  const axes = [first, second];
  return {
    points: Array.from({ length: count }, (_, at) => axes.map(({ value, vector }) => Math.sqrt(Math.max(value, 0)) * vector[at])),
    shares: axes.map(({ value }) => value / total),
  };
}

/** The largest eigenvalue of a symmetric matrix and its vector, by power iteration; the largest entry is positive. */
function largestAxis(matrix, count) {
  let vector = Float64Array.from({ length: count }, (_, index) => Math.cos(index + 1));
  let value = 0;
  for (let step = 0; step < 200; step++) {
    const next = product(matrix, vector, count);
    const length = Math.sqrt(dot(next, next));
    if (length < 1e-12) return { value: 0, vector: vector.fill(0) };
    vector = next.map((entry) => entry / length);
    if (Math.abs(length - value) < 1e-9 * length) break;
    value = length;
  }
  const largest = vector.reduce((most, entry) => (Math.abs(entry) > Math.abs(most) ? entry : most), 0);
  return { value, vector: largest < 0 ? vector.map((entry) => -entry) : vector };
}

/** A square matrix times a vector, with four sums at a time that do not wait for each other. */
function product(matrix, vector, count) {
  const result = new Float64Array(count);
  const even = count - (count % 4);
  for (let row = 0, at = 0; row < count; row++) {
    let [first, second, third, fourth] = [0, 0, 0, 0];
    for (let column = 0; column < even; column += 4, at += 4) {
      first += matrix[at] * vector[column];
      second += matrix[at + 1] * vector[column + 1];
      third += matrix[at + 2] * vector[column + 2];
      fourth += matrix[at + 3] * vector[column + 3];
    }
    for (let column = even; column < count; column++, at++) first += matrix[at] * vector[column];
    result[row] = first + second + third + fourth;
  }
  return result;
}

/** Indices of the `number` largest of `count` scores, largest first; a `score(index)` of -Infinity leaves it out. */
export function largest(count, number, score) {
  const best = [];
  for (let index = 0; index < count; index++) {
    const value = score(index);
    if (value === -Infinity || (best.length === number && value <= best[number - 1].value)) continue;
    let at = best.length;
    while (at > 0 && best[at - 1].value < value) at--;
    best.splice(at, 0, { index, value });
    if (best.length > number) best.pop();
  }
  return best;
}
