/** Lines of top-ups and adjustments, and the type of all lines. */
import { flipCreditSign } from '../../../domain/balance-sign.ts'
import type { OperationLine } from '../../../domain/line.ts'
import type { StoredOf } from '../../entities/json-schema.ts'
import { TOTAL_COST } from './balance-document.ts'
import { balanceIdOf } from './balance-id.ts'
import type { CreditLineDocument } from './credit-line.ts'
import type { PricingFields, RealtimeLineDocument } from './line-document.ts'
import type { ANY_LINE, OPERATION_LINE, OPERATION_OPTIONS } from './line-schemas.ts'
import { moneyOf } from './money-value.ts'

/**
 * The line of a top-up or adjustment. Amounts have the sign of balances, but `asked` is credit
 * positive. The change is in `usagev`, or in `aprice` and `aprice_micros`. The version of the owner
 * and the terms of the bucket are those after it, to rebuild a lost ledger.
 */
export interface BalanceLineDocument
  extends StoredOf<typeof ANY_LINE, 'usagev'>,
    StoredOf<typeof OPERATION_LINE>,
    Partial<StoredOf<typeof OPERATION_OPTIONS>>,
    Partial<Pick<PricingFields, 'aprice' | 'aprice_micros'>> {
  type: 'balance'
  /** `billapi` for operations of the entity API. */
  source: 'realtime' | 'billapi'
  usaget: 'balance'
  charging_type: NonNullable<OperationLine['chargingType']>
}

export type LineDocument = RealtimeLineDocument | BalanceLineDocument | CreditLineDocument

/** `name`: of the prepaid include in the catalogue; empty if it is not found there. */
export function balanceLineDocument(line: OperationLine, name: string): BalanceLineDocument {
  const isUnits = line.kind === 'units'
  const convert = (amount: number) => flipCreditSign(isUnits ? amount : moneyOf(amount))
  const change = line.after - line.before
  return {
    stamp: line.stamp,
    v: 1,
    type: 'balance',
    source: line.chargingType === undefined ? 'realtime' : 'billapi',
    usaget: 'balance',
    aid: line.aid,
    sid: line.sid,
    operation: line.operation,
    operation_id: line.operationId,
    charging_type: line.chargingType ?? 'Prepaidinclude',
    ...(line.sourceRef === undefined ? {} : { source_ref: line.sourceRef }),
    charging_usaget: line.usaget === '' ? TOTAL_COST : line.usaget,
    pp_includes_external_id: line.prepaidIncludeId,
    pp_includes_name: name,
    bucket_id: line.bucketId,
    ...(line.bucketId === 0 ? {} : { balance_ref: balanceIdOf(line) }),
    ...(line.parentRef === undefined ? {} : { parent_ref: line.parentRef }),
    balance_before: convert(line.before),
    balance_after: convert(line.after),
    // Added to the requested credit, which is negative.
    balance_normalized: isUnits ? (line.normalized ?? 0) : moneyOf(line.normalized ?? 0),
    ...(isUnits
      ? { usagev: convert(change) }
      : { aprice: convert(change), aprice_micros: flipCreditSign(change) }),
    repaid_micros: line.repaid,
    ...optionalFields(line),
    owner_v: line.version,
    priority: line.priority,
    from: new Date(line.fromMs),
    to: new Date(line.toMs),
    urt: new Date(line.atMs),
  }
}

function optionalFields(line: OperationLine): Partial<BalanceLineDocument> {
  const { asked, counter, limit, counted, additional, mended } = line
  return {
    ...(asked === undefined ? {} : { asked }),
    ...(counter === undefined ? {} : { counter, limit: limit ?? 0, counted: counted ?? 0 }),
    ...(additional === undefined ? {} : { additional }),
    ...(mended === undefined ? {} : { mended }),
  }
}

/**
 * The amounts of the bucket in a line, in units or micros, credit positive: credited = change +
 * repaid + counted, of which repaid and counted are spent.
 */
export function amountsOfLine(line: BalanceLineDocument): { change: number; counted: number } {
  const change = flipCreditSign(line.usagev ?? line.aprice_micros ?? 0)
  return { change, counted: line.counted ?? 0 }
}
