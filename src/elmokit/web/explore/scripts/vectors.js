// Vectors of a weighted sum of layers, their cosines, and the plane in which they differ most.

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

/** Coordinates [x, y] of each vector along the two directions of largest variance, and their share of the variance;
    the share is null if all vectors are the same. */
export function principalPlane(vectors) {
  const centred = centre(vectors);
  const products = centred.map((one) => centred.map((other) => dot(one, other)));
  const total = products.reduce((sum, products, index) => sum + products[index], 0);
  if (total <= 1e-9 * vectors.reduce((sum, vector) => sum + dot(vector, vector), 0)) return { points: vectors.map(() => [0, 0]), share: null };
  const axes = [largestAxis(products)];
  axes.push(largestAxis(products.map((of, i) => of.map((value, j) => value - axes[0].value * axes[0].vector[i] * axes[0].vector[j]))));
  const points = vectors.map((_, index) => axes.map(({ value, vector }) => Math.sqrt(Math.max(value, 0)) * vector[index]));
  return { points, share: (axes[0].value + axes[1].value) / total };
}

function centre(vectors) {
  if (!vectors.length) return [];
  const mean = new Float64Array(vectors[0].length);
  for (const vector of vectors) vector.forEach((value, at) => (mean[at] += value / vectors.length));
  return vectors.map((vector) => Float64Array.from(vector, (value, at) => value - mean[at]));
}

/** The largest eigenvalue of a symmetric matrix and its vector, by power iteration; the largest entry is positive. */
function largestAxis(matrix) {
  let vector = matrix.map((_, index) => Math.cos(index + 1));
  let value = 0;
  for (let step = 0; step < 200; step++) {
    const next = matrix.map((products) => dot(products, vector));
    const length = Math.sqrt(dot(next, next));
    if (length < 1e-12) return { value: 0, vector: vector.map(() => 0) };
    vector = next.map((entry) => entry / length);
    if (Math.abs(length - value) < 1e-9 * length) break;
    value = length;
  }
  const largest = vector.reduce((most, entry) => (Math.abs(entry) > Math.abs(most) ? entry : most), 0);
  return { value, vector: largest < 0 ? vector.map((entry) => -entry) : vector };
}

/** Indices of the `number` largest of `count` scores, the largest first; `score(index)` may be -Infinity to leave out. */
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
