/** By name: a text, or a value that was JSON or nested by brackets. */
export type RawParameters = ReadonlyMap<string, unknown>

/**
 * By name, in the order of sending: texts as they came, maps for what brackets nest, other values
 * where the body was JSON. Names in the body take the place of those in the address.
 */
export type SentParameters = ReadonlyMap<string, unknown>
