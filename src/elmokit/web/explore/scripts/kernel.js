// Matrix products on the CPU: a WebAssembly function with SIMD, assembled here, and the memory that it works in.
//
// multiply(w, x, y, blocks, columns, count, strideX, strideY) adds, for each of `count` vectors, the product of a matrix
// with x to y. All are byte addresses. A block is 32 rows of the matrix, column by column: their sums stay in registers,
// and a number of x is loaded once for all of them. `Memory.matrix` arranges matrices so.

const I32 = 0x7f;
const V128 = 0x7b;
const LOOP = 0x03;
const END = 0x0b;
const BR_IF = 0x0d;
const GET = 0x20;
const SET = 0x21;
const TEE = 0x22;
const CONST = 0x41;
const LESS = 0x49;
const ADD = 0x6a;
const MULTIPLY = 0x6c;
const V128_LOAD = [0xfd, 0x00];
const V128_LOAD_SPLAT = [0xfd, 0x09];
const V128_STORE = [0xfd, 0x0b];
const F32X4_ADD = [0xfd, 0xe4, 0x01];
const F32X4_MULTIPLY = [0xfd, 0xe6, 0x01];
const NO_RESULT = 0x40;

const SUMS = 8; // of four rows each
const ROWS = 4 * SUMS;

// The parameters, in their order, and the local variables.
const [W, X, Y, BLOCKS, COLUMNS, COUNT, STRIDE_X, STRIDE_Y, BLOCK, VECTOR, W_AT, X_START, X_AT, X_END, Y_AT, NUMBER, SUM] =
  Array.from({ length: 17 }, (_, index) => index);

function unsigned(number) {
  const bytes = [];
  do {
    bytes.push((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
    number >>>= 7;
  } while (number);
  return bytes;
}

function signed(number) {
  const bytes = [];
  for (; number > 0x3f; number >>= 7) bytes.push((number & 0x7f) | 0x80);
  return [...bytes, number];
}

const constant = (number) => [CONST, ...signed(number)];
const increase = (local, ...by) => [GET, local, ...by, ADD, SET, local];
const copy = (from, to) => [GET, from, SET, to];
const nextUnless = (local, step, end) => [GET, local, ...constant(step), ADD, TEE, local, GET, end, LESS, BR_IF, 0];
const section = (id, content) => [id, ...unsigned(content.length), ...content];

function body() {
  const sums = Array.from({ length: SUMS }, (_, index) => ({ sum: SUM + index, at: 16 * index }));
  return [
    LOOP, NO_RESULT, // over the blocks of the matrix
    ...constant(0), SET, VECTOR, ...copy(X, X_START), ...copy(Y, Y_AT),
    LOOP, NO_RESULT, // over the vectors
    ...copy(W, W_AT), ...copy(X_START, X_AT), GET, X_START, GET, COLUMNS, ...constant(4), MULTIPLY, ADD, SET, X_END,
    ...sums.flatMap(({ sum, at }) => [GET, Y_AT, ...V128_LOAD, 0, ...unsigned(at), SET, sum]),
    LOOP, NO_RESULT, // over the columns
    GET, X_AT, ...V128_LOAD_SPLAT, 2, 0, SET, NUMBER,
    ...sums.flatMap(({ sum, at }) => [
      GET, sum, GET, W_AT, ...V128_LOAD, 0, ...unsigned(at), GET, NUMBER, ...F32X4_MULTIPLY, ...F32X4_ADD, SET, sum,
    ]),
    ...increase(W_AT, ...constant(4 * ROWS)),
    ...nextUnless(X_AT, 4, X_END),
    END,
    ...sums.flatMap(({ sum, at }) => [GET, Y_AT, GET, sum, ...V128_STORE, 0, ...unsigned(at)]),
    ...increase(X_START, GET, STRIDE_X), ...increase(Y_AT, GET, STRIDE_Y),
    ...nextUnless(VECTOR, 1, COUNT),
    END,
    ...copy(W_AT, W), ...increase(Y, ...constant(4 * ROWS)),
    ...nextUnless(BLOCK, 1, BLOCKS),
    END,
    END,
  ];
}

function moduleBytes() {
  const text = (string) => [string.length, ...new TextEncoder().encode(string)];
  const code = [2, NUMBER - BLOCK, I32, SUMS + 1, V128, ...body()];
  return new Uint8Array([
    0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, [1, 0x60, 8, ...new Array(8).fill(I32), 0]),
    ...section(2, [1, ...text("js"), ...text("memory"), 2, 0, 0]),
    ...section(3, [1, 0]),
    ...section(7, [1, ...text("multiply"), 0, 0]),
    ...section(10, [1, ...unsigned(code.length), ...code]),
  ]);
}

/** Float32 arrays in the memory of the kernel. What is reserved after `mark()` is given back by `release(mark)`. */
export class Memory {
  static async create() {
    const pages = new WebAssembly.Memory({ initial: 16 });
    const { instance } = await WebAssembly.instantiate(moduleBytes(), { js: { memory: pages } });
    return new Memory(pages, instance.exports.multiply);
  }

  constructor(pages, multiply) {
    this.pages = pages;
    this.end = 16;
    this.call = multiply;
  }

  /** Byte address of space for `length` numbers. */
  reserve(length) {
    const start = this.end;
    this.end = start + Math.ceil(length / 4) * 16;
    const missing = this.end + 4 * ROWS - this.pages.buffer.byteLength; // the last rows of a product may be filled up
    if (missing > 0) this.pages.grow(Math.ceil(missing / 65536));
    return start;
  }

  /** The numbers at an address; valid until more memory is reserved. */
  view(address, length) {
    return new Float32Array(this.pages.buffer, address, length);
  }

  mark() {
    return this.end;
  }

  release(mark) {
    this.end = mark;
  }

  /** Copies a matrix (rows, columns), block by block; zeros fill up the last one, and add nothing to what follows y. */
  matrix(values, rows, columns) {
    const blocks = Math.ceil(rows / ROWS);
    const address = this.reserve(blocks * ROWS * columns);
    const view = this.view(address, blocks * ROWS * columns);
    if (rows % ROWS) view.fill(0);
    for (let first = 0; first < rows; first += ROWS) {
      const last = Math.min(first + ROWS, rows);
      for (let column = 0; column < columns; column++) {
        const start = first * columns + column * ROWS - first;
        for (let row = first; row < last; row++) view[start + row] = values[row * columns + column];
      }
    }
    return { address, rows, columns, blocks };
  }

  /** Adds matrix @ x to y for `count` vectors at addresses x and y, which are strideX and strideY numbers apart. */
  multiply(matrix, x, y, count = 1, strideX = matrix.columns, strideY = matrix.rows) {
    if (count > 0) this.call(matrix.address, x, y, matrix.blocks, matrix.columns, count, 4 * strideX, 4 * strideY);
  }
}
