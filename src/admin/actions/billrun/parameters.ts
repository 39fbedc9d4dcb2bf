/** Parameters and states that the commands of `/billrun` share. */
import { calendarOf } from '../../../billing/credit/credits.ts'
import type { RunName } from '../../../billing/cycle/run-cycle.ts'
import { type CycleState, readCycleState } from '../../../billing/run/status.ts'
import { BILLRUN, type BillrunSettings } from '../../../catalog/settings/money/billrun-settings.ts'
import { readCategory } from '../../../catalog/settings/stored-config.ts'
import { isCycleKey } from '../../../domain/cycle.ts'
import { ActionError } from '../../../requests/errors.ts'
import type { ActionCall } from '../action.ts'
import { param } from '../parameters.ts'

export const STAMP = param.optional(param.text('Key of the cycle, such as `202611`.'))
export const INVOICING_DAY = param.optional(
  param.text('Day of the cycle, if accounts have different ones (`billrun.multi_day_cycle`).'),
)

export async function readSettings({ catalog }: ActionCall): Promise<BillrunSettings> {
  return BILLRUN.read((await readCategory(catalog, 'billrun')).value)
}

/** Texts of refusals, which differ between commands. */
export interface RefusedName {
  readonly stamp: string
  readonly day: string
}

/** The cycle that a call names. Throws `ActionError`. */
export async function namedCycle(
  call: ActionCall,
  parameters: { readonly stamp?: string; readonly invoicing_day?: string },
  refused: RefusedName,
): Promise<RunName> {
  const { stamp = '', invoicing_day: day = '' } = parameters
  if (!isCycleKey(stamp)) throw new ActionError(refused.stamp, { path: 'stamp' })
  const { multi_day_cycle: isMultiDay } = await readSettings(call)
  if (!isMultiDay) return { key: stamp, invoicingDay: null }
  const number = /^\d{1,2}$/.test(day) ? Number(day) : 0
  if (number < 1 || number > 28) throw new ActionError(refused.day, { path: 'invoicing_day' })
  return { key: stamp, invoicingDay: number }
}

export function stateOf(call: ActionCall, name: RunName): Promise<CycleState> {
  return readCycleState(call.catalog, name, calendarOf(call.config), call.nowMs)
}
