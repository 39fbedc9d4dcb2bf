/** The envelope of answers, and what of a request they contain. */
import { issuesOf } from '../../domain/field-errors.ts'
import { answeredIssues } from '../../requests/errors.ts'
import {
  CREDENTIALS,
  parameterWarnings,
  type RawParameters,
} from '../../requests/raw-parameters.ts'
import type { Action, ActionAnswer } from './action.ts'

/** The parameters without credentials, in the order of their names. */
export function plainParameters(raw: RawParameters): Record<string, unknown> {
  const kept = [...raw].filter(([name]) => !CREDENTIALS.has(name))
  return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The parameters that the answer returns, in the order in which they were sent. */
function echoedParameters(
  { notEchoed = [] }: Pick<Action, 'notEchoed'>,
  raw: RawParameters,
): Record<string, unknown> {
  const hidden = typeof notEchoed === 'function' ? notEchoed(raw) : notEchoed
  const isShown = (name: string) => !CREDENTIALS.has(name) && !hidden.includes(name)
  return Object.fromEntries([...raw].filter(([name]) => isShown(name)))
}

/** The whole answer: names unknown parameters, and what is wrong if the action was refused. */
export function envelopeOf(
  action: Pick<Action, 'name' | 'notEchoed' | 'parameters'>,
  raw: RawParameters,
  answer: ActionAnswer,
): object {
  const { status = 1, desc = 'success', warnings: own = [], errors, ...others } = answer
  const known = Object.keys(action.parameters.properties)
  const warnings = [...(own as readonly string[]), ...parameterWarnings(raw, known, action.name)]
  // `remove` answers with the number of lines.
  const isRefused = (status === 0 || status === false) && desc !== 'success'
  return {
    status,
    desc,
    input: echoedParameters(action, raw),
    ...others,
    ...(warnings.length > 0 && { warnings }),
    ...(isRefused && { errors: errors ?? answeredIssues(issuesOf(String(desc), 'refused')) }),
  }
}
