/** The state of a segment that its line repeats: units, amounts and payments so far. */
import type { Carried, Payment } from './segment-parts.ts'

export interface Counts {
  /** Null if the price starts with this segment. */
  carried: Carried | null
  /** Whether this segment is charged the access price. */
  access: boolean
  /** Whether units beyond the groups are `over_group` instead of `out_group`. */
  hasGroups: boolean
  /**
   * Used units. Groups of units pay for `includedUnits`, included money for `includedMoneyUnits`,
   * money for `chargedUnits`, and other buckets of units for the rest.
   */
  used: number
  includedUnits: number
  includedMoneyUnits: number
  chargedUnits: number
  /** Micros: price of the units paid by included money, and charged price of the segment. */
  includedMicros: number
  charged: number
  /** Part of `charged` that no bucket could pay; of it the debt of the account (debt.ts). */
  debt: number
  accountDebt: number
  /** Amounts returned to buckets that had expired meanwhile, and so forfeited, units and micros. */
  forfeitedUnits: number
  forfeitedMicros: number
  payments: Payment[]
  /** Event times, epoch ms. */
  firstMs: number
  lastMs: number
  /** Whether some of its usage was reported after the session expired. */
  late: boolean
}

/** Without usage so far. Field by field as `copyCounts`, so that all have one hidden class. */
export function newCounts(
  atMs: number,
  hasGroups: boolean,
  access: boolean,
  carried: Carried | null,
): Counts {
  return {
    carried,
    access,
    hasGroups,
    used: 0,
    includedUnits: 0,
    includedMoneyUnits: 0,
    chargedUnits: 0,
    includedMicros: 0,
    charged: 0,
    debt: 0,
    accountDebt: 0,
    forfeitedUnits: 0,
    forfeitedMicros: 0,
    payments: [],
    firstMs: atMs,
    lastMs: atMs,
    late: false,
  }
}

/** A copy whose payments may be changed as well. */
export function copyCounts(counts: Counts): Counts {
  return {
    carried: counts.carried,
    access: counts.access,
    hasGroups: counts.hasGroups,
    used: counts.used,
    includedUnits: counts.includedUnits,
    includedMoneyUnits: counts.includedMoneyUnits,
    chargedUnits: counts.chargedUnits,
    includedMicros: counts.includedMicros,
    charged: counts.charged,
    debt: counts.debt,
    accountDebt: counts.accountDebt,
    forfeitedUnits: counts.forfeitedUnits,
    forfeitedMicros: counts.forfeitedMicros,
    payments: counts.payments.map(copyPayment),
    firstMs: counts.firstMs,
    lastMs: counts.lastMs,
    late: counts.late,
  }
}

/** A copy with the signs of usage and payments reversed; forfeited amounts stay. */
export function reversedCounts(counts: Counts): Counts {
  // Unary minus would turn 0 into -0.
  const minus = (amount: number) => 0 - amount
  const reversed = copyCounts(counts)
  reversed.used = minus(counts.used)
  reversed.includedUnits = minus(counts.includedUnits)
  reversed.includedMoneyUnits = minus(counts.includedMoneyUnits)
  reversed.chargedUnits = minus(counts.chargedUnits)
  reversed.includedMicros = minus(counts.includedMicros)
  reversed.charged = minus(counts.charged)
  reversed.debt = minus(counts.debt)
  reversed.accountDebt = minus(counts.accountDebt)
  for (const payment of reversed.payments) payment.amount = minus(payment.amount)
  return reversed
}

export function copyPayment(payment: Payment): Payment {
  return {
    owner: payment.owner,
    bucketId: payment.bucketId,
    prepaidIncludeId: payment.prepaidIncludeId,
    kind: payment.kind,
    amount: payment.amount,
    counter: payment.counter,
    left: payment.left,
    total: payment.total,
  }
}
