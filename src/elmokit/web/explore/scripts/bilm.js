// The biLM (Peters et al., 2018): tokens -> activations of all layers, as elmokit/model/bilm.py computes them.

import { BEGIN_SENTENCE, END_SENTENCE, PADDING_ID, characterIds } from "./characters.js";
import { Memory } from "./kernel.js";

const FORGET_BIAS = 1;
const MAX_CACHED_TOKENS = 20000;

export class BiLM {
  /** config: `bilm` of config.json; tensors: from model.safetensors. Throws an Error if they do not fit together. */
  static async create(config, tensors) {
    return new BiLM(config, tensors, await Memory.create());
  }

  constructor(config, tensors, memory) {
    this.config = config;
    this.memory = memory;
    this.tokenEncoder = new TokenEncoder(config, tensors, memory);
    const directions = config.bidirectional ? ["forward_lstm", "backward_lstm"] : ["forward_lstm"];
    this.lstms = directions.map((name) =>
      Array.from({ length: config.num_layers }, (_, index) => new LSTMLayer(config, tensors, memory, `${name}.layers.${index}`)),
    );
    this.numLayers = config.num_layers + 1;
    this.dim = directions.length * config.projection_dim;
  }

  /** Activations of a sentence: one Float32Array (tokens, dim) for each layer; 0 is the token representation. */
  read(tokens) {
    const withBoundaries = this.readBounded(tokens);
    return withBoundaries.map((layer) => layer.slice(this.dim, layer.length - this.dim));
  }

  /** The same with the two sentence boundaries. From their activations, the models predict the words at the ends. */
  readBounded(tokens) {
    const bounded = [BEGIN_SENTENCE, ...tokens, END_SENTENCE];
    const width = this.config.projection_dim;
    const vectors = this.tokenEncoder.encode(bounded);
    const layers = Array.from({ length: this.numLayers }, () => new Float32Array(bounded.length * this.dim));
    this.lstms.forEach((stack, direction) => {
      const order = direction === 0 ? (step) => step : (step) => bounded.length - 1 - step;
      let inputs = arrange(vectors, width, bounded.length, order);
      scatter(inputs, layers[0], width, this.dim, direction, order);
      stack.forEach((layer, index) => {
        const outputs = layer.run(inputs, bounded.length);
        if (index > 0 && this.config.use_skip_connections) outputs.forEach((_, at) => (outputs[at] += inputs[at]));
        scatter(outputs, layers[index + 1], width, this.dim, direction, order);
        inputs = outputs;
      });
    });
    return layers;
  }
}

function arrange(vectors, width, count, order) {
  const arranged = new Float32Array(count * width);
  for (let step = 0; step < count; step++) {
    arranged.set(vectors.subarray(order(step) * width, (order(step) + 1) * width), step * width);
  }
  return arranged;
}

function scatter(rows, layer, width, dim, direction, order) {
  for (let step = 0; step * width < rows.length; step++) {
    layer.set(rows.subarray(step * width, (step + 1) * width), order(step) * dim + direction * width);
  }
}

function tensor(tensors, name, ...shape) {
  const found = tensors.get(name);
  if (!found || found.shape.join() !== shape.join()) {
    throw new Error(`weights ${name}: ${found ? `shape ${found.shape}` : "missing"}; expected ${shape}`);
  }
  return found.values;
}

const sigmoid = (value) => 1 / (1 + Math.exp(-value));
const clipped = (value, most) => (value > most ? most : value < -most ? -most : value);

/** Characters -> token representations: convolutions, maximum over the positions, highway layers, projection. */
class TokenEncoder {
  constructor(config, tensors, memory) {
    const prefix = "char_encoder";
    const dim = config.character_dim;
    const numFilters = config.filters.reduce((sum, [, number]) => sum + number, 0);
    Object.assign(this, { config, memory, numFilters, cache: new Map() });
    this.widest = Math.max(...config.filters.map(([width]) => width));
    this.embedding = tensor(tensors, `${prefix}.embedding.weight`, 262, dim);
    this.convolutions = config.filters.map(([width, number], index) => {
      const weights = tensor(tensors, `${prefix}.convolutions.${index}.weight`, number, dim, width);
      return {
        width,
        matrix: memory.matrix(byPosition(weights, number, dim, width), number, width * dim),
        bias: tensor(tensors, `${prefix}.convolutions.${index}.bias`, number),
      };
    });
    const linear = (name, rows, columns) => ({
      matrix: memory.matrix(tensor(tensors, `${name}.weight`, rows, columns), rows, columns),
      bias: tensor(tensors, `${name}.bias`, rows),
    });
    this.highways = Array.from({ length: config.num_highway_layers }, (_, index) => ({
      transform: linear(`${prefix}.highways.${index}.transform`, numFilters, numFilters),
      gate: linear(`${prefix}.highways.${index}.gate`, numFilters, numFilters),
    }));
    this.projection =
      numFilters === config.projection_dim ? null : linear(`${prefix}.projection`, config.projection_dim, numFilters);
  }

  /** Token representations (tokens, projection_dim). */
  encode(tokens) {
    const width = this.config.projection_dim;
    const vectors = new Float32Array(tokens.length * width);
    tokens.forEach((token, index) => vectors.set(this.encodeToken(token), index * width));
    return vectors;
  }

  encodeToken(token) {
    let vector = this.cache.get(token);
    if (!vector) {
      if (this.cache.size >= MAX_CACHED_TOKENS) this.cache.clear();
      vector = this.compute(token);
      this.cache.set(token, vector);
    }
    return vector;
  }

  compute(token) {
    const mark = this.memory.mark();
    let hidden = this.filters(token).values;
    for (const { transform, gate } of this.highways) {
      const transformed = this.apply(transform, hidden);
      const gates = this.apply(gate, hidden);
      hidden = hidden.map((value, index) => {
        const share = sigmoid(gates[index]);
        return share * Math.max(transformed[index], 0) + (1 - share) * value;
      });
    }
    if (this.projection) hidden = this.apply(this.projection, hidden);
    this.memory.release(mark);
    return hidden;
  }

  /** The largest activation of each filter, and the position of its window among the characters. */
  filters(token) {
    const { memory, config } = this;
    const dim = config.character_dim;
    const ids = characterIds(token, config.max_characters_per_token);
    // Only padding follows the word. All windows that contain only padding are equal, so one of them is enough.
    const length = Math.min(ids.length + this.widest, config.max_characters_per_token);
    const mark = memory.mark();
    const characters = memory.reserve(length * dim);
    const values = new Float32Array(this.numFilters);
    const positions = new Int32Array(this.numFilters);
    const outputs = memory.reserve(length * this.numFilters);
    for (let position = 0; position < length; position++) {
      const id = position < ids.length ? ids[position] : PADDING_ID;
      memory.view(characters, length * dim).set(this.embedding.subarray(id * dim, (id + 1) * dim), position * dim);
    }
    let first = 0;
    for (const { width, matrix, bias } of this.convolutions) {
      const windows = length - width + 1;
      const view = memory.view(outputs, windows * matrix.rows);
      for (let window = 0; window < windows; window++) view.set(bias, window * matrix.rows);
      memory.multiply(matrix, characters, outputs, windows, dim);
      const found = memory.view(outputs, windows * matrix.rows);
      for (let filter = 0; filter < matrix.rows; filter++) {
        let best = 0;
        for (let window = 1; window < windows; window++) {
          if (found[window * matrix.rows + filter] > found[best * matrix.rows + filter]) best = window;
        }
        values[first + filter] = found[best * matrix.rows + filter];
        positions[first + filter] = best;
      }
      first += matrix.rows;
    }
    memory.release(mark);
    const activation = config.activation === "tanh" ? Math.tanh : (value) => Math.max(value, 0);
    return { values: values.map(activation), positions };
  }

  apply({ matrix, bias }, vector) {
    const { memory } = this;
    const mark = memory.mark();
    const x = memory.reserve(matrix.columns);
    const y = memory.reserve(matrix.rows);
    memory.view(x, matrix.columns).set(vector);
    memory.view(y, matrix.rows).set(bias);
    memory.multiply(matrix, x, y);
    const result = memory.view(y, matrix.rows).slice();
    memory.release(mark);
    return result;
  }
}

/** (filters, characters, width), torch's order -> (filters, width, characters), the order of a window in memory. */
function byPosition(weights, number, dim, width) {
  const arranged = new Float32Array(weights.length);
  for (let filter = 0; filter < number; filter++) {
    for (let character = 0; character < dim; character++) {
      for (let at = 0; at < width; at++) {
        arranged[(filter * width + at) * dim + character] = weights[(filter * dim + character) * width + at];
      }
    }
  }
  return arranged;
}

/** A layer of an LSTM with projection and clips, in one direction; gates in the order input, forget, output, candidate. */
class LSTMLayer {
  constructor(config, tensors, memory, name) {
    const { lstm_dim: cells, projection_dim: width } = config;
    Object.assign(this, { memory, cells, width, cellClip: config.cell_clip ?? Infinity });
    this.projectionClip = config.projection_clip ?? Infinity;
    const gates = (part) => memory.matrix(tensor(tensors, `${name}.${part}`, 4 * cells, width), 4 * cells, width);
    this.fromInput = gates("input_weight");
    this.fromOutput = gates("recurrent_weight");
    this.bias = tensor(tensors, `${name}.bias`, 4 * cells).slice();
    for (let cell = cells; cell < 2 * cells; cell++) this.bias[cell] += FORGET_BIAS;
    this.projection =
      cells === width ? null : memory.matrix(tensor(tensors, `${name}.projection_weight`, width, cells), width, cells);
  }

  /** Outputs (steps, width) for inputs (steps, width), from a state of zeros. */
  run(inputs, steps) {
    const { memory, cells, width } = this;
    const mark = memory.mark();
    const x = memory.reserve(steps * width);
    const gates = memory.reserve(steps * 4 * cells);
    const hidden = memory.reserve(cells);
    const output = memory.reserve(width);
    const cell = memory.reserve(cells);
    memory.view(x, steps * width).set(inputs);
    for (let step = 0; step < steps; step++) memory.view(gates, steps * 4 * cells).set(this.bias, step * 4 * cells);
    memory.view(output, width).fill(0);
    memory.view(cell, cells).fill(0);
    memory.multiply(this.fromInput, x, gates, steps);
    const outputs = new Float32Array(steps * width);
    for (let step = 0; step < steps; step++) {
      const now = gates + 16 * cells * step;
      memory.multiply(this.fromOutput, output, now);
      this.step(memory.view(now, 4 * cells), memory.view(cell, cells), memory.view(hidden, cells));
      const h = memory.view(output, width);
      if (this.projection) {
        h.fill(0);
        memory.multiply(this.projection, hidden, output);
      } else h.set(memory.view(hidden, cells));
      for (let at = 0; at < width; at++) h[at] = clipped(h[at], this.projectionClip);
      outputs.set(h, step * width);
    }
    memory.release(mark);
    return outputs;
  }

  step(gates, cell, hidden) {
    const { cells, cellClip } = this;
    for (let at = 0; at < cells; at++) {
      const kept = cell[at] * sigmoid(gates[cells + at]);
      const added = sigmoid(gates[at]) * Math.tanh(gates[3 * cells + at]);
      cell[at] = clipped(kept + added, cellClip);
      hidden[at] = sigmoid(gates[2 * cells + at]) * Math.tanh(cell[at]);
    }
  }
}
