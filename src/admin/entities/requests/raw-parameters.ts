export type { SentParameters } from '../../../catalog/signature/signed-text.ts'

/** By name: a text, or a value that was JSON or nested by brackets. */
export type RawParameters = ReadonlyMap<string, unknown>
