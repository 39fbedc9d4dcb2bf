/** Records of top-ups and adjustments, and what all kinds of lines are. */
import { flipCreditSign } from '../domain/balance-sign.ts'
import type { OperationLine } from '../domain/line.ts'
import { TOTAL_COST } from './balance-document.ts'
import type { RealtimeLineDocument } from './line-document.ts'
import { moneyOf } from './money-shown.ts'

/** The record of a top-up or adjustment (spec/realtime.md 6.5). Amounts have the balances' sign. */
export interface BalanceLineDocument {
  stamp: string
  v: number
  type: 'balance'
  source: 'realtime'
  usaget: 'balance'
  aid: number
  sid: number
  operation: string
  operation_id: string
  charging_type: 'prepaidinclude'
  charging_usaget: string
  pp_includes_external_id: number
  pp_includes_name: string
  bucket_id: number
  balance_before: number
  balance_after: number
  balance_normalized: number
  /** One of them: after − before. */
  usagev?: number
  aprice?: number
  aprice_micros?: number
  /** Part of the amount that repaid debt. */
  repaid_micros: number
  /** Version of the owner and terms of the bucket after it: for rebuilding a lost ledger. */
  owner_v: number
  priority: number
  from: Date
  to: Date
  urt: Date
}

export type LineDocument = RealtimeLineDocument | BalanceLineDocument

/** `name`: of the prepaid include, from the catalogue; empty if it is not known there. */
export function balanceLineDocument(line: OperationLine, name: string): BalanceLineDocument {
  const isUnits = line.kind === 'units'
  const shown = (amount: number) => flipCreditSign(isUnits ? amount : moneyOf(amount))
  const change = line.after - line.before
  return {
    stamp: line.stamp,
    v: 1,
    type: 'balance',
    source: 'realtime',
    usaget: 'balance',
    aid: line.aid,
    sid: line.sid,
    operation: line.operation,
    operation_id: line.operationId,
    charging_type: 'prepaidinclude',
    charging_usaget: line.usaget === '' ? TOTAL_COST : line.usaget,
    pp_includes_external_id: line.prepaidIncludeId,
    pp_includes_name: name,
    bucket_id: line.bucketId,
    balance_before: shown(line.before),
    balance_after: shown(line.after),
    balance_normalized: 0,
    ...(isUnits
      ? { usagev: shown(change) }
      : { aprice: shown(change), aprice_micros: flipCreditSign(change) }),
    repaid_micros: line.repaid,
    owner_v: line.version,
    priority: line.priority,
    from: new Date(line.fromMs),
    to: new Date(line.toMs),
    urt: new Date(line.atMs),
  }
}
