import { Decimal128, ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import {
  packedInvoice,
  unpackedInvoice,
} from '../../../../src/catalog/records/money/invoice-document.ts'
import { balanceLineDocument } from '../../../../src/catalog/records/usage/documents.ts'
import type { OperationLine } from '../../../../src/domain/line.ts'
import { FOREVER_MS } from '../../../../src/domain/time.ts'

const operation: OperationLine = {
  stamp: 'o1',
  aid: 17,
  sid: 18,
  operationId: 'op-1',
  operation: 'topup',
  bucketId: 4,
  prepaidIncludeId: 7,
  kind: 'money',
  usaget: '',
  amount: 10_000_000,
  before: 2_500_000,
  after: 12_000_000,
  repaid: 500_000,
  atMs: Date.UTC(2026, 2, 20),
  version: 12,
  priority: 60,
  fromMs: Date.UTC(2026, 2, 1),
  toMs: FOREVER_MS,
}

describe('a balance line', () => {
  it('of money has the sign of balances', () => {
    expect(balanceLineDocument(operation, 'MONEY')).toEqual({
      stamp: 'o1',
      v: 1,
      type: 'balance',
      source: 'realtime',
      usaget: 'balance',
      aid: 17,
      sid: 18,
      operation: 'topup',
      operation_id: 'op-1',
      charging_type: 'Prepaidinclude',
      charging_usaget: 'total_cost',
      pp_includes_external_id: 7,
      pp_includes_name: 'MONEY',
      bucket_id: 4,
      balance_ref: '000000000880000000090004',
      balance_before: -2.5,
      balance_after: -12,
      balance_normalized: 0,
      aprice: -9.5,
      aprice_micros: -9_500_000,
      repaid_micros: 500_000,
      owner_v: 12,
      priority: 60,
      from: new Date('2026-03-01T00:00:00Z'),
      to: new Date(FOREVER_MS),
      urt: new Date('2026-03-20T00:00:00Z'),
    })
  })

  it('of units has a volume and no price', () => {
    const units = { ...operation, kind: 'units', usaget: 'data', before: 0, after: 100 } as const
    const document = balanceLineDocument(units, 'PACK')
    expect(document).toMatchObject({ usagev: -100, charging_usaget: 'data', balance_before: 0 })
    expect(document).not.toHaveProperty('aprice')
  })
})

it('an invoice crosses between threads with the values of its customer', () => {
  const id = new ObjectId()
  const account = { id, since: new Date(0), limit: Decimal128.fromString('1.50'), none: undefined }
  const invoice = { aid: 1, subs: [{ totals: { before_vat: 0.1 } }], account }
  const bytes = structuredClone(packedInvoice(invoice as never))
  const { none: _, ...kept } = account
  expect(unpackedInvoice(bytes)).toEqual({ ...invoice, account: kept })
})
