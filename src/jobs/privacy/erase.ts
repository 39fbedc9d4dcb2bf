/** The erasure job for a subscriber or an account. */
import { appendDocuments, unwrittenRecords } from '../../catalog/audit/append.ts'
import { auditDocument } from '../../catalog/audit/audit.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import { writeDecision } from '../../catalog/revisions/entity-changes.ts'
import { DEFINITIONS } from '../../entities/definitions/collections.ts'
import type { Subject } from '../../entities/erasure.ts'
import type { CurrentFields } from '../../entities/fields/current.ts'
import type { EntityStores } from '../../entities/requests/entity-request.ts'
import { readAccountFields } from '../../ledger/account-fields.ts'
import { openSessionsOf } from '../../ledger/open-sessions.ts'
import { watchRecorderProgress } from '../../ledger/recorder-progress.ts'
import { releaseSession } from '../../ledger/release.ts'
import { compileIdentification, formsInBytes, formsOfNumber } from '../../rating/identify.ts'
import type { ClaimedJob } from '../jobs.ts'
import type { JobHandler } from '../runner.ts'
import { eraseAudit } from './erase-audit.ts'
import {
  type CommitBatch,
  eraseInImports,
  eraseReasons,
  eraseRecords,
  eraseRejected,
} from './erase-records.ts'
import {
  personalNames,
  personalPaths,
  textsUnder,
  withFreeTexts,
  withoutPaths,
} from './personal.ts'
import { type ErasedEntity, type ErasureScope, erasureScopeOf } from './subject.ts'

export interface ErasureParts {
  stores: EntityStores
  fields: CurrentFields
}

/** Interval between checks whether ended sessions have been deleted. */
const SETTLE_MS = 60_000

/**
 * Removes personal data step by step; each step can be repeated. Charging may rewrite lines of
 * sessions for as long as it stores them (`ledger.replayMs`), so lines are erased again after that.
 */
export function eraseHandler(parts: ErasureParts): JobHandler {
  const { stores } = parts
  const { catalog, clock } = stores
  return async (claimed) => {
    const { options, _id } = claimed.job
    const subject = { collection: options['collection'], key: options['key'] } as Subject
    const scope = await erasureScopeOf(catalog, subject)
    const paths = await pathsOf(parts)
    const all = [...new Set([...paths.accounts, ...paths.subscribers])]
    const names = personalNames(all)
    if (claimed.job.step !== 'settle') {
      if (options['force'] === true) await endSessions(stores, scope, claimed)
      await eraseTexts(stores, scope, { all, identifiers: paths.identifiers }, claimed)
      for (const entity of scope.entities) {
        await claimed.commitBatch('entities', async (session) => ({
          revisions: await eraseEntity(stores, session, entity, paths[entity.collection]),
        }))
      }
      const fields = new Set(all.map((path) => path.split('.', 1)[0] ?? path))
      const id = _id.toHexString()
      const commit = batches(claimed, 'audit_records', 'audit')
      await eraseAudit(catalog, { id, scope, fields, names }, commit)
      await eraseDocuments(stores, scope, names, claimed)
    }
    const isSettled = await hasSettled(stores, scope)
    await claimed.saveProgress('settle')
    if (!isSettled) return clock.nowMs() + SETTLE_MS
    await eraseLines(stores, scope, names, claimed)
    await recordEnd(stores, subject, claimed)
    return null
  }
}

/** Usage records name subscribers by them without rules of identification. */
const RECORD_IDENTIFIERS = ['msisdn', 'imsi']

async function pathsOf({ stores, fields }: ErasureParts) {
  const { customerIdentification } = stores.config.rating
  const found = compileIdentification(customerIdentification).targetKeys()
  const pathsIn = async (name: Subject['collection']) => {
    const definition = DEFINITIONS.get(name)
    const configured = definition === undefined ? [] : await fields.of(definition)
    return personalPaths(configured, found)
  }
  const subscribers = await pathsIn('subscribers')
  const identifiers = [...new Set([...found, ...RECORD_IDENTIFIERS])]
  return {
    ...{ accounts: await pathsIn('accounts'), subscribers },
    identifiers: identifiers.filter((path) => subscribers.includes(path)),
  }
}

/** Batches that count their documents under a name. */
function batches(claimed: ClaimedJob, name: string, step: string): CommitBatch {
  return (write) => claimed.commitBatch(step, async (session) => ({ [name]: await write(session) }))
}

async function endSessions(
  { ledger, config, clock }: EntityStores,
  { owners }: ErasureScope,
  claimed: ClaimedJob,
): Promise<void> {
  const { commitAttemptsMax: attemptsMax, replayMs } = config.ledger
  for (const owner of owners.filter(({ sid }) => sid !== 0)) {
    for await (const found of openSessionsOf(ledger, owner)) {
      const ended = await releaseSession(ledger, found, { attemptsMax, replayMs }, clock.nowMs())
      claimed.count('sessions', ended === null ? 0 : 1)
    }
  }
  await claimed.saveProgress('sessions')
}

/** Must precede the erasure of the entities, which contain the texts to search for. */
async function eraseTexts(
  stores: EntityStores,
  { entities }: ErasureScope,
  { all, identifiers }: Readonly<Record<'all' | 'identifiers', readonly string[]>>,
  claimed: ClaimedJob,
): Promise<void> {
  const revisions = entities.flatMap((entity) => entity.revisions)
  const textsOf = (paths: readonly string[]) => revisions.flatMap((one) => textsUnder(one, paths))
  await eraseInImports(stores.catalog, textsOf(all), batches(claimed, 'failed_rows', 'imports'))
  const { countryPrefix } = stores.config.rating
  const written = identifiers.flatMap((path) => {
    const texts = textsOf([path])
    return path === 'msisdn' ? texts.flatMap((one) => formsOfNumber(one, countryPrefix)) : texts
  })
  const searched = written.flatMap((one) => [one, ...formsInBytes(one)])
  await eraseRejected(stores, searched, batches(claimed, 'rejected_records', 'intake'))
}

async function eraseDocuments(
  stores: EntityStores,
  scope: ErasureScope,
  names: ReadonlySet<string>,
  claimed: ClaimedJob,
): Promise<void> {
  const { catalog } = stores
  const { aid } = scope
  if (aid !== null) {
    const filter = { aid }
    const inBills = withFreeTexts(names)
    await eraseRecords(catalog, 'bills', filter, inBills, batches(claimed, 'bills', 'bills'))
    await eraseRecords(catalog, 'billrun', filter, names, batches(claimed, 'billrun', 'billrun'))
    await eraseReasons(catalog, aid, batches(claimed, 'postings', 'journal'))
    // An open charge still needs its fields; it is erased when the erasure is repeated.
    const ended = { ...filter, due: null, task: null }
    const commit = batches(claimed, 'gateway_charges', 'charges')
    await eraseRecords(catalog, 'gatewaycharges', ended, inBills, commit)
  }
  await eraseLines(stores, scope, names, claimed)
  await eraseEvents(stores, scope, names, claimed)
}

/** A receiver may have answered with data of the customer. */
const ANSWER = 'returned_value'

async function eraseEvents(
  { catalog }: EntityStores,
  { aid: whole, owners }: ErasureScope,
  names: ReadonlySet<string>,
  claimed: ClaimedJob,
): Promise<void> {
  const inEvents = withFreeTexts(new Set([...names, ANSWER]))
  const commit = batches(claimed, 'events', 'events')
  const filters = [
    ...(whole === null ? [] : [{ 'extra_params.aid': whole }]),
    ...owners
      .filter(({ sid }) => sid !== 0)
      .map(({ aid, sid }) => ({ 'extra_params.aid': aid, 'extra_params.sid': sid })),
  ]
  for (const filter of filters) await eraseRecords(catalog, 'events', filter, inEvents, commit)
}

async function eraseLines(
  { catalog }: EntityStores,
  { aid, owners }: ErasureScope,
  names: ReadonlySet<string>,
  claimed: ClaimedJob,
): Promise<void> {
  const sids = new Set(owners.map(({ sid }) => sid).filter((sid) => sid !== 0))
  const filters = [...(aid === null ? [] : [{ aid }]), ...[...sids].map((sid) => ({ sid }))]
  const step = claimed.job.step === 'settle' ? 'settle' : 'lines'
  for (const filter of filters) {
    const count = batches(claimed, 'lines', step)
    await eraseRecords(catalog, 'lines', { ...filter, type: { $ne: 'credit' } }, names, count)
    const credits = { ...filter, type: 'credit' }
    await eraseRecords(catalog, 'lines', credits, withFreeTexts(names), count)
  }
}

/** Whether the ledger has no session of theirs left, and all its output is recorded. */
async function hasSettled(
  { catalog, ledger }: EntityStores,
  { owners }: ErasureScope,
): Promise<boolean> {
  const aids = owners.map(({ aid }) => aid)
  const found = await readAccountFields(ledger, aids)
  for (const [index, fields] of found.entries()) {
    if (fields instanceof Error) throw fields
    if (fields.sessionKeys.has(owners[index]?.sid ?? 0)) return false
  }
  // Its lines would be written again with what is erased.
  const rerated = { aid: { $in: aids }, state: 'planned' as const }
  if ((await catalog.rerates.countDocuments(rerated)) > 0) return false
  const recording = watchRecorderProgress(ledger, 1)
  for (const aid of new Set(aids)) {
    if (!(await recording.waitUntilRecorded(aid))) return false
  }
  return true
}

/** The record of the erasure, in one transaction with its last progress. */
function recordEnd(
  { catalog, clock }: EntityStores,
  { collection, key }: Subject,
  claimed: ClaimedJob,
): Promise<void> {
  const { _id, actor, counts } = claimed.job
  const operationId = _id.toHexString()
  const entry = {
    collection,
    type: 'erased',
    key: String(key),
    operationId,
    new: { job: operationId, ...counts },
  }
  const document = auditDocument(actor, clock.nowMs(), entry, `erased/${operationId}`)
  return claimed.commitBatch('settle', async (session) => {
    appendDocuments(session, await unwrittenRecords(catalog, [document]))
    return {}
  })
}

/** Returns the number of revisions that the transaction changes. Throws errors of the stores. */
async function eraseEntity(
  stores: EntityStores,
  session: ClientSession,
  { collection, key }: ErasedEntity,
  paths: readonly string[],
): Promise<number> {
  const { catalog, clock } = stores
  const { entities } = await erasureScopeOf(catalog, { collection, key })
  const found = entities.find((one) => one.collection === collection && one.key === key)
  const before = (found?.revisions ?? []).filter((one) => withoutPaths(one, paths) !== null)
  const erased_at = new Date(clock.nowMs())
  const steps = before.map((revision) => {
    const document: RawDocument = { ...(withoutPaths(revision, paths) as RawDocument), erased_at }
    return { mode: 'replace' as const, document }
  })
  const decision = { collection: 'subscribers', steps, before, result: null } as const
  const { stored } = await writeDecision(stores, session, decision)
  return stored.size
}
