/** Records of subscriber 1 of account 1, from which a lost ledger is rebuilt. */
import { moneyFormat } from '../../../src/billing/currency.ts'
import { balanceLineDocument } from '../../../src/catalog/records/usage/documents.ts'
import { lineDocument } from '../../../src/catalog/records/usage/line-document.ts'
import type { Bucket, OwnerState } from '../../../src/domain/bucket.ts'
import type { OperationLine } from '../../../src/domain/line.ts'
import type { Payment } from '../../../src/domain/segment-parts.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { withFields } from '../domain/lines.ts'
import { paymentOf } from '../domain/requests.ts'
import { operationOf } from '../ledger/fixture.ts'
import { lineOf, NOW_MS } from '../recorder/accounts.ts'

export const GBP = moneyFormat(826)

export const owner = (sid: number, version: number, buckets: Bucket[], more = {}): OwnerState => ({
  aid: 1,
  sid,
  version,
  nextBucketId: 9,
  owed: 0,
  repaid: 0,
  buckets,
  ...more,
})

/** An operation on bucket 1 of subscriber 1 that created this version. */
export const operation = (version: number, amount: number, more: Partial<OperationLine> = {}) => {
  const made = { ...operationOf(`v${version}`, amount), version, priority: 7 }
  const after = (more.before ?? 0) + amount - (more.repaid ?? 0)
  return balanceLineDocument({ ...made, after, toMs: FOREVER_MS, atMs: NOW_MS, ...more }, '')
}

export const paid = (amount: number, more: Partial<Payment> = {}) =>
  paymentOf({ prepaidIncludeId: 1, kind: 'money', amount, ...more })

export const usage = (stamp: string, payments: Payment[], debt = 0, sid = 1) =>
  lineDocument(withFields(lineOf(1, sid, stamp), { version: 1, payments, debt }))
