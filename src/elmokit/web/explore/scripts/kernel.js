// Matrix products on the CPU: a WebAssembly function with SIMD, assembled here, and the memory that it works in.
//
// multiply(w, x, y, rows, columns, count, strideX, strideY) adds, for each of `count` vectors, the product of a matrix
// (rows, columns) with x to y. All are byte addresses; the columns are a multiple of 16, which `Memory.matrix` sees to.

const I32 = 0x7f;
const V128 = 0x7b;
const LOOP = 0x03;
const END = 0x0b;
const BR_IF = 0x0d;
const GET = 0x20;
const SET = 0x21;
const TEE = 0x22;
const F32_STORE = 0x38;
const F32_LOAD = 0x2a;
const CONST = 0x41;
const LESS = 0x49;
const ADD = 0x6a;
const MULTIPLY = 0x6c;
const F32_ADD = 0x92;
const V128_LOAD = [0xfd, 0x00];
const V128_ZERO = [0xfd, 0x0c, ...new Array(16).fill(0)];
const EXTRACT_LANE = [0xfd, 0x1f];
const F32X4_ADD = [0xfd, 0xe4, 0x01];
const F32X4_MULTIPLY = [0xfd, 0xe6, 0x01];
const NO_RESULT = 0x40;

const UNROLLED = 4; // sums that are added up side by side, of four numbers each
export const STEP = 4 * UNROLLED;

// The parameters, in their order, and the local variables.
const [W, X, Y, ROWS, COLUMNS, COUNT, STRIDE_X, STRIDE_Y, ROW, VECTOR, W_END, W_AT, X_AT, X_START, Y_AT, SUM] =
  Array.from({ length: 16 }, (_, index) => index);

function unsigned(number) {
  const bytes = [];
  do {
    bytes.push((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
    number >>>= 7;
  } while (number);
  return bytes;
}

const constant = (number) => [CONST, ...(number < 64 ? [number] : [number | 0x80, 0])]; // a signed LEB128, below 128
const increase = (local, ...by) => [GET, local, ...by, ADD, SET, local];
const copy = (from, to) => [GET, from, SET, to];
const section = (id, content) => [id, ...unsigned(content.length), ...content];

function body() {
  const sums = Array.from({ length: UNROLLED }, (_, index) => SUM + index);
  const multiplyAndAdd = sums.flatMap((sum, index) => [
    GET, sum,
    GET, W_AT, ...V128_LOAD, 0, 16 * index,
    GET, X_AT, ...V128_LOAD, 0, 16 * index,
    ...F32X4_MULTIPLY, ...F32X4_ADD, SET, sum,
  ]);
  const addUp = [
    GET, SUM, GET, SUM + 1, ...F32X4_ADD, GET, SUM + 2, GET, SUM + 3, ...F32X4_ADD, ...F32X4_ADD, SET, SUM,
    GET, Y_AT, GET, Y_AT, F32_LOAD, 2, 0,
    GET, SUM, ...EXTRACT_LANE, 0, GET, SUM, ...EXTRACT_LANE, 1, F32_ADD,
    GET, SUM, ...EXTRACT_LANE, 2, GET, SUM, ...EXTRACT_LANE, 3, F32_ADD, F32_ADD,
    F32_ADD, F32_STORE, 2, 0,
  ];
  return [
    LOOP, NO_RESULT, // over the rows of the matrix
    GET, W, GET, COLUMNS, ...constant(4), MULTIPLY, ADD, SET, W_END,
    ...constant(0), SET, VECTOR, ...copy(X, X_START), ...copy(Y, Y_AT),
    LOOP, NO_RESULT, // over the vectors
    ...copy(W, W_AT), ...copy(X_START, X_AT), ...sums.flatMap((sum) => [...V128_ZERO, SET, sum]),
    LOOP, NO_RESULT, // over the columns
    ...multiplyAndAdd,
    ...increase(X_AT, ...constant(4 * STEP)),
    GET, W_AT, ...constant(4 * STEP), ADD, TEE, W_AT, GET, W_END, LESS, BR_IF, 0,
    END,
    ...addUp,
    ...increase(X_START, GET, STRIDE_X), ...increase(Y_AT, GET, STRIDE_Y),
    GET, VECTOR, ...constant(1), ADD, TEE, VECTOR, GET, COUNT, LESS, BR_IF, 0,
    END,
    ...copy(W_END, W), ...increase(Y, ...constant(4)),
    GET, ROW, ...constant(1), ADD, TEE, ROW, GET, ROWS, LESS, BR_IF, 0,
    END,
    END,
  ];
}

function moduleBytes() {
  const text = (string) => [string.length, ...new TextEncoder().encode(string)];
  const code = [2, SUM - ROW, I32, UNROLLED, V128, ...body()];
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

  /** Byte address of room for `length` numbers. */
  reserve(length) {
    const start = this.end;
    this.end = start + Math.ceil(length / 4) * 16;
    const missing = this.end - this.pages.buffer.byteLength;
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

  /** Copies a matrix (rows, columns) row by row, with its columns filled up with zeros. */
  matrix(values, rows, columns) {
    const padded = Math.ceil(columns / STEP) * STEP;
    const address = this.reserve(rows * padded);
    const view = this.view(address, rows * padded);
    if (padded === columns) view.set(values);
    else for (let row = 0; row < rows; row++) view.set(values.subarray(row * columns, (row + 1) * columns), row * padded);
    return { address, rows, columns, padded };
  }

  /** Adds matrix @ x to y for `count` vectors at addresses x and y, which are strideX and strideY numbers apart. */
  multiply(matrix, x, y, count = 1, strideX = matrix.padded, strideY = matrix.rows) {
    if (count > 0) this.call(matrix.address, x, y, matrix.rows, matrix.padded, count, 4 * strideX, 4 * strideY);
  }
}
