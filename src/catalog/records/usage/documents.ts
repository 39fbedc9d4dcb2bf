/** Lines of top-ups and adjustments, and the type of all lines. */
import { flipCreditSign } from '../../../domain/balance-sign.ts'
import type { MendedSums, OperationLine } from '../../../domain/line.ts'
import { TOTAL_COST } from './balance-document.ts'
import { balanceIdOf } from './balance-id.ts'
import type { CreditLineDocument } from './credit-line.ts'
import type { RealtimeLineDocument } from './line-document.ts'
import { moneyOf } from './money-value.ts'

/** The line of a top-up or adjustment. Amounts have the sign of balances. */
export interface BalanceLineDocument {
  stamp: string
  v: number
  type: 'balance'
  /** `billapi` for operations of the entity API. */
  source: 'realtime' | 'billapi'
  usaget: 'balance'
  aid: number
  sid: number
  operation: string
  operation_id: string
  charging_type: NonNullable<OperationLine['chargingType']>
  /** Charging plan, or card. */
  source_ref?: string
  charging_usaget: string
  pp_includes_external_id: number
  pp_includes_name: string
  /** 0 in the head line of several operations, which changes no bucket. */
  bucket_id: number
  /** Id of the balance (balance-id.ts). */
  balance_ref?: string
  /** Stamp of the head line, if the operation is a part of it. */
  parent_ref?: string
  balance_before: number
  balance_after: number
  /** How much of the requested credit was cut off by the limit of the plan. */
  balance_normalized: number
  /** The change, after − before: one of these. */
  usagev?: number
  aprice?: number
  aprice_micros?: number
  /** The part of the amount that repaid debt. */
  repaid_micros: number
  /** The requested amount if it differs from the change; units or micros, credit positive. */
  asked?: number
  /** Only for counters: name, total, and the usage transferred from another account. */
  counter?: string
  limit?: number
  counted?: number
  additional?: Readonly<Record<string, unknown>>
  /** Only for corrections by the ledger audit: the amounts added to the sums of lines. */
  mended?: MendedSums
  /**
   * Version of the owner, and terms of the bucket, after the operation: to rebuild a lost ledger.
   */
  owner_v: number
  priority: number
  from: Date
  to: Date
  urt: Date
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
