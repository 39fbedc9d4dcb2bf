/** How `audit --mend` restores account debt when the ledger has lost its last writes. */
import { expect, it } from 'vitest'
import { balanceDocument, debtBucket } from '../../src/catalog/records/usage/balance-document.ts'
import { lineDocument } from '../../src/catalog/records/usage/line-document.ts'
import { emptySums } from '../../src/catalog/records/usage/line-sums.ts'
import type { AccountEvidence } from '../../src/cli/audit/evidence.ts'
import { planMend } from '../../src/cli/audit/mend-plan.ts'
import { emptyOwner, type OwnerState } from '../../src/domain/bucket.ts'
import type { Line } from '../../src/domain/line.ts'
import { withFields } from '../support/domain/lines.ts'
import { lineOf } from '../support/recorder/accounts.ts'

const owing = (sid: number, owed: number): OwnerState => ({
  ...emptyOwner(1, sid),
  version: 4,
  owed,
})

/** Both owners as the ledger has them, and a line whose amounts are too low in the ledger. */
function evidenceOf(account: OwnerState, subscriber: OwnerState, ledgerLine: Line, recorded: Line) {
  const line = lineDocument(recorded)
  const owners = [account, subscriber].map((state) => ({
    state,
    sessions: [],
    sums: emptySums(),
    projected: state.owed === 0 ? [] : [balanceDocument(state, debtBucket(state), '')],
  }))
  const [shared, own] = owners.map(({ sums }) => sums)
  own!.owed += line.debt_micros - line.account_debt_micros
  shared!.owed += line.account_debt_micros
  const different = [{ ledgerLine, recorded: line }]
  return { aid: 1, owners, different, later: [], unknown: [], lost: [] } as AccountEvidence
}

it('recorded debt of each owner is restored, and its line belongs to that owner', () => {
  const standing = withFields(lineOf(1, 11, 'a'), { debt: 7, accountDebt: 5 })
  const recorded = withFields(standing, { debt: 14, accountDebt: 8 })
  const { owners, unsettled } = planMend(evidenceOf(owing(0, 5), owing(11, 2), standing, recorded))
  expect(unsettled).toEqual([])
  expect(owners).toMatchObject([
    { after: { sid: 0, owed: 8, repaid: 0 }, debt: { owed: 3, repaid: 0 } },
    { after: { sid: 11, owed: 6, repaid: 0 }, debt: { owed: 4, repaid: 0 } },
  ])
})

it('debt with a different record, or with no record, is recorded again', () => {
  const line = withFields(lineOf(1, 11, 'a'), { debt: 5, accountDebt: 5 })
  const even = () => evidenceOf(owing(0, 5), owing(11, 0), line, line)
  expect(planMend({ ...even(), different: [] }).owners).toEqual([])
  for (const owed of [undefined, 4]) {
    const evidence = { ...even(), different: [] }
    const before = owing(0, owed ?? 0)
    evidence.owners[0]!.projected =
      owed === undefined ? [] : [balanceDocument(before, debtBucket(before), '')]
    expect(planMend(evidence).owners).toMatchObject([
      { after: { sid: 0, owed: 5, version: 5 }, debt: { owed: 0 } },
    ])
  }
})
