import { ignoredWarnings } from './problems.ts'

export type { OrderedParameters } from '../catalog/signature/signed-text.ts'

/** By name: a text, or a value parsed from JSON or from bracketed names. */
export type RawParameters = ReadonlyMap<string, unknown>

/** Credentials in parameters; they are neither returned nor part of a call's identity. */
export const CREDENTIALS: ReadonlySet<string> = new Set([
  'access_token',
  '_sig_',
  'signature',
  '_t_',
])

/** Warnings about parameters that `call` does not have. */
export function parameterWarnings(
  raw: RawParameters,
  known: readonly string[],
  call: string,
): readonly string[] {
  const others = [...raw.keys()].filter((name) => !known.includes(name) && !CREDENTIALS.has(name))
  return ignoredWarnings(others, known, `a parameter of ${call}`)
}
