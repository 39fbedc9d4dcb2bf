/** The envelope of answers, and what of a request they contain. */
import type { RawParameters } from '../../requests/raw-parameters.ts'
import type { Action, ActionAnswer } from './action.ts'

/** Credentials in parameters; they are neither returned nor part of a call's identity. */
const CREDENTIALS: ReadonlySet<string> = new Set(['access_token', '_sig_', 'signature', '_t_'])

/** The parameters without credentials, in the order of their names. */
export function plainParameters(raw: RawParameters): Record<string, unknown> {
  const kept = [...raw].filter(([name]) => !CREDENTIALS.has(name))
  return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The parameters that the answer returns, in the order in which they were sent. */
export function echoedParameters(
  { notEchoed = [] }: Pick<Action, 'notEchoed'>,
  raw: RawParameters,
): Record<string, unknown> {
  const hidden = typeof notEchoed === 'function' ? notEchoed(raw) : notEchoed
  const isShown = (name: string) => !CREDENTIALS.has(name) && !hidden.includes(name)
  return Object.fromEntries([...raw].filter(([name]) => isShown(name)))
}

export function envelopeOf(input: object, answer: ActionAnswer): object {
  const { status = 1, desc = 'success', ...others } = answer
  return { status, desc, input, ...others }
}
