export type { OrderedParameters } from '../catalog/signature/signed-text.ts'

/** By name: a text, or a value parsed from JSON or from bracketed names. */
export type RawParameters = ReadonlyMap<string, unknown>
