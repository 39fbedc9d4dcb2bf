/** Parameters of a credit, the same in `credit` and in the entries of `bulkcredit`. */

import { type Static, Type } from '@sinclair/typebox'
import type { Decimal } from 'decimal.js'
import {
  CreditProcessError,
  CreditRefusal,
  type CreditRequest,
} from '../../billing/credit/credit-request.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { type CreditFields, creditFieldsOf } from '../../catalog/settings/money/line-settings.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import { isCycleKey } from '../../domain/cycle.ts'
import { issueUnder, missing } from '../../domain/field-errors.ts'
import { ActionError } from '../../requests/errors.ts'
import { badKey } from '../../requests/stored-value.ts'
import { param } from './parameters.ts'

/** In the order in which errors are reported. */
export const CREDIT_PARAMETERS = Type.Object({
  sid: param.integer('Number of the subscriber; 0 for a credit of the account itself.'),
  aid: param.integer('Number of the account.'),
  rate: param.text('Key of a rate that is valid now.'),
  credit_time: param.date('Time of the credit.'),
  usagev: param.amount('Quantity, or the usage to be priced.'),
  aprice: param.optional(
    param.amount('Price; negative for a refund. Without it the usage is priced by the rate.'),
  ),
  installments: param.optional(
    param.integer('Number of installments, only with `aprice`.', { maximum: 1200 }),
  ),
  billrun_key: param.optional(
    param.text('Billing cycle, such as `202601`; that of `credit_time` by default.'),
  ),
  label: param.optional(param.text('Text for the invoice.')),
  credit_type: param.optional(param.text('Without `aprice`: `charge`, otherwise it is a refund.')),
  multiply_charge_by_volume: param.optional(
    param.flag('Whether `aprice` is the price of one unit of `usagev`; true by default.'),
  ),
  uf: param.optional(param.object('Configured fields (`lines.credit.fields`).')),
})

export type CreditParameters = Static<typeof CREDIT_PARAMETERS>

/** Amounts and volumes are below 10^12 and have at most 12 decimals, so that products are exact. */
const DIGITS_MAX = 12

export async function readCreditFields(catalog: Catalog): Promise<CreditFields> {
  const { value } = await readCategory(catalog, 'lines')
  return creditFieldsOf(value)
}

/** Throws `CreditRefusal`. */
export function creditRequestOf(
  parameters: CreditParameters,
  fields: CreditFields,
  reason: string | null,
): CreditRequest {
  const { aid, sid, rate, credit_time: time, usagev, aprice, installments, label } = parameters
  const { billrun_key: billrunKey, credit_type: kind } = parameters
  refuseLong('usagev', usagev)
  if (aprice !== undefined) refuseLong('aprice', aprice)
  const uf = ufOf(parameters.uf, fields)
  if (installments !== undefined) {
    if (aprice === undefined) {
      throw new CreditRefusal('Installments can only be applied on credit by price', {
        path: 'installments',
      })
    }
    if (installments <= 0) {
      throw new CreditRefusal('Number of installments must be a positive number', {
        path: 'installments',
      })
    }
  }
  if (billrunKey !== undefined && !isCycleKey(billrunKey)) {
    throw fieldRefusal('billrun_key', 'must be a cycle key such as 202601')
  }
  return {
    aid,
    sid,
    rateKey: rate,
    atMs: time.getTime(),
    usagev,
    aprice: aprice ?? null,
    isPerUnit: parameters.multiply_charge_by_volume ?? true,
    kind: kind === 'charge' ? 'charge' : 'refund',
    installments: installments ?? null,
    billrunKey: billrunKey ?? null,
    label: label ?? null,
    uf,
    reason,
  }
}

/** Throws `CreditRefusal`. */
export function refuseLong(name: string, value: Decimal): void {
  if (value.decimalPlaces() <= DIGITS_MAX && value.abs().lt(10 ** DIGITS_MAX)) return
  const least = `must be below 10^${DIGITS_MAX} and have at most ${DIGITS_MAX} decimals`
  throw fieldRefusal(name, least)
}

/** The refusal of a credit, whose parameters are those of `parent`, as an error of the action. */
export function refusedCredit(error: CreditRefusal | CreditProcessError, parent = ''): ActionError {
  const text = error instanceof CreditProcessError ? error.reason : error.message
  return new ActionError(
    text,
    error.issues.map((issue) => issueUnder(parent, issue)),
  )
}

function fieldRefusal(path: string, reason: string): CreditRefusal {
  return new CreditRefusal(`Field ${path} ${reason}`, [{ path, reason }])
}

/** Only configured fields are kept. */
function ufOf(
  sent: CreditParameters['uf'],
  fields: CreditFields,
): Readonly<Record<string, unknown>> | null {
  const kept: Record<string, unknown> = {}
  for (const { field_name: name, mandatory } of fields) {
    const value = sent !== undefined && Object.hasOwn(sent, name) ? sent[name] : undefined
    if (value === undefined || value === null) {
      if (mandatory !== true) continue
      throw new CreditRefusal(`Following field is missing: uf.${name}`, missing([`uf.${name}`]))
    }
    const refused = refusedKeyIn(value)
    if (refused !== null) throw fieldRefusal(`uf.${name}`, `has a key that ${refused}`)
    kept[name] = value
  }
  return sent === undefined && Object.keys(kept).length === 0 ? null : kept
}

/** Why a key of a nested value cannot be stored. */
function refusedKeyIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null
  for (const [key, member] of Object.entries(value)) {
    const reason = (Array.isArray(value) ? null : badKey(key)) ?? refusedKeyIn(member)
    if (reason !== null) return reason
  }
  return null
}
