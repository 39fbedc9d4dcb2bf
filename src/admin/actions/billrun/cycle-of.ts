import type { CycleParts } from '../../../jobs/cycle/cycle.ts'
import { RequestError } from '../../../requests/errors.ts'
import type { ActionCall } from '../action.ts'

/** The parts of runs. Throws `RequestError` on a server without them. */
export function cycleOf({ cycle }: Pick<ActionCall, 'cycle'>): CycleParts {
  if (cycle === undefined) throw new RequestError(503, 'this server runs no billing cycles')
  return cycle
}
