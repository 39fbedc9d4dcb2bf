/** E-mails with new events: one for each address and interval, however many events there are. */
import { createHash } from 'node:crypto'
import type { ObjectId } from '../catalog/collections.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { NotificationDocument } from '../catalog/records/events/event-document.ts'
import type { NotificationSettings } from '../catalog/settings/events/notification-settings.ts'
import { isMailbox } from '../domain/email.ts'
import { isAddressRefused, isServerDown, type MailSettings, sendMail } from '../external/mail.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { NotificationMetrics } from '../runtime/notification-metrics.ts'

/** Events of one digest; more wait for the next one. */
const EVENTS_MAX = 10_000
/** Events that an e-mail lists; of all of them it has the number for each code. */
const LISTED_MAX = 500
const BATCH = 500
const READ_MS_MAX = 30_000
/** Older events are news no longer: they are not sent. */
const AGE_MS_MAX = 7 * 86_400_000
/** Events without a time come first in the index. */
const NEW_FIRST = { email_time: 1, creation_time: 1 } as const
const WITH_EMAIL = { 'receiver.notify_by_email.notify': true } as const

export interface DigestParts {
  readonly catalog: Catalog
  readonly mail: MailSettings
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn'>
  readonly metrics: Pick<NotificationMetrics, 'digests'>
}

type Email = Pick<NotificationSettings['email'], 'globalAddresses' | 'intervalMs'>
type NewEvent = NotificationDocument & { _id: ObjectId }

interface EmailOfRule {
  readonly use_global_addresses?: boolean
  readonly additional_addresses?: readonly string[]
}

/** The events of one address. */
interface Digest {
  readonly ids: ObjectId[]
  readonly listed: NewEvent[]
  readonly counts: Map<string, number>
}

export interface Digests {
  /**
   * Sends the digests that are due, and returns their number. If one fails, the others are sent,
   * its events wait for the next call, and this rejects with the failure.
   */
  send(settings: Email): Promise<number>
}

export function createDigests(parts: DigestParts): Digests {
  return new MailedDigests(parts)
}

class MailedDigests implements Digests {
  readonly #parts: DigestParts
  /** When addresses got their last digest from this process. */
  readonly #sentMs = new Map<string, number>()
  /** When any process had sent the last one, at the first call. */
  #startMs: number | null = null

  constructor(parts: DigestParts) {
    this.#parts = parts
  }

  async send(settings: Email): Promise<number> {
    this.#startMs ??= await this.#lastMs()
    const nowMs = this.#parts.clock.nowMs()
    const digests = new Map<string, Digest>()
    const events = await this.#newEvents()
    for (const event of events) {
      if (event.creation_time.getTime() <= nowMs - AGE_MS_MAX) continue
      for (const address of addressesLeft(event, settings)) addTo(digests, address, event)
    }
    const waiting = new Set<ObjectId>()
    let failure: unknown = null
    let count = 0
    for (const [address, digest] of digests) {
      const lastMs = this.#sentMs.get(address) ?? this.#startMs
      try {
        if (lastMs + settings.intervalMs <= nowMs && !isServerDown(failure)) {
          await this.#mail(address, digest)
          count += 1
          continue
        }
      } catch (error) {
        failure = error
      }
      for (const id of digest.ids) waiting.add(id)
    }
    const ended = events.filter(({ _id }) => !waiting.has(_id)).map(({ _id }) => _id)
    await this.#change(ended, { $set: { email_time: new Date(nowMs) } })
    if (failure !== null) throw failure
    return count
  }

  /** When the last digest was sent; 0 if none was. */
  async #lastMs(): Promise<number> {
    const { catalog } = this.#parts
    const [last] = await catalog.events
      .find(WITH_EMAIL, { projection: { email_time: 1 } })
      .sort({ email_time: -1 })
      .limit(1)
      .toArray()
    return last?.email_time?.getTime() ?? 0
  }

  async #newEvents(): Promise<NewEvent[]> {
    const { catalog } = this.#parts
    const found: NewEvent[] = []
    const projection = { conditions: 0, returned_value: 0, related_entities: 0 }
    const read = catalog.readBatches(
      'read events for e-mails',
      (limits) =>
        catalog.unguarded.events
          .find(WITH_EMAIL, { projection, batchSize: BATCH, ...limits })
          .sort(NEW_FIRST),
      { limitMs: READ_MS_MAX },
    )
    for await (const batch of read) {
      const isNew = batch.findIndex(({ email_time: time }) => time !== undefined)
      found.push(...(isNew < 0 ? batch : batch.slice(0, isNew)))
      if (isNew >= 0 || found.length >= EVENTS_MAX) break
    }
    return found
  }

  /** Rejects if the address did not get its digest, and may get it later. */
  async #mail(address: string, digest: Digest): Promise<void> {
    const { clock, log, metrics } = this.#parts
    if (await this.#isAccepted(address, digest)) metrics.digests('sent', 1)
    else {
      metrics.digests('refused', 1)
      const domain = address.split('@').at(-1)
      log.warn({ domain }, 'an address of digests is not valid, or refused by the mail server')
    }
    this.#sentMs.set(address, clock.nowMs())
    await this.#change(digest.ids, { $addToSet: { emailed_to: address } })
  }

  async #isAccepted(address: string, digest: Digest): Promise<boolean> {
    const { mail, metrics } = this.#parts
    // Stored by an earlier release, and perhaps several addresses in a header.
    if (!isMailbox(address)) return false
    try {
      await sendMail(mail, mailOf(address, digest))
      return true
    } catch (error) {
      if (isAddressRefused(error)) return false
      metrics.digests('failed', 1)
      throw error
    }
  }

  async #change(ids: readonly ObjectId[], change: object): Promise<void> {
    const { catalog } = this.#parts
    for (let from = 0; from < ids.length; from += BATCH) {
      const some = { _id: { $in: ids.slice(from, from + BATCH) } }
      await catalog.events.updateMany(some, change)
    }
  }
}

/** Time of the first event that is to be sent by e-mail; null without one. */
export async function firstUnmailedMs(catalog: Catalog): Promise<number | null> {
  const [first] = await catalog.events
    .find(WITH_EMAIL, { projection: { email_time: 1, creation_time: 1 } })
    .sort(NEW_FIRST)
    .limit(1)
    .toArray()
  return first === undefined || first.email_time !== undefined
    ? null
    : first.creation_time.getTime()
}

function addressesLeft({ receiver, emailed_to: done = [] }: NewEvent, settings: Email): string[] {
  const email = (receiver.notify_by_email ?? {}) as EmailOfRule
  const all = [
    ...(email.use_global_addresses === true ? settings.globalAddresses : []),
    ...(email.additional_addresses ?? []),
  ]
  return [...new Set(all)].filter((address) => !done.includes(address))
}

function addTo(digests: Map<string, Digest>, address: string, event: NewEvent): void {
  let digest = digests.get(address)
  if (digest === undefined) {
    digest = { ids: [], listed: [], counts: new Map() }
    digests.set(address, digest)
  }
  const { ids, listed, counts } = digest
  ids.push(event._id)
  if (listed.length < LISTED_MAX) listed.push(event)
  counts.set(event.event_code, (counts.get(event.event_code) ?? 0) + 1)
}

function mailOf(to: string, { ids, listed, counts }: Digest) {
  const hash = createHash('sha256').update(to)
  for (const id of ids) hash.update(id.toHexString())
  const number = ids.length === 1 ? '1 event' : `${ids.length} events`
  const unlisted = ids.length - listed.length
  const lines = [
    ...[...counts].map(([code, count]) => `${plain(code)}: ${count}`),
    '',
    ...listed.map(lineOf),
    ...(unlisted > 0 ? [`and ${unlisted} more`] : []),
    '',
  ]
  const subject = `Tollgate: ${number}`
  return { to, subject, text: lines.join('\n'), id: `events-${hash.digest('hex').slice(0, 32)}` }
}

function lineOf(event: NewEvent): string {
  const { creation_time: time, event_code: code, event_description: about, before, after } = event
  const { aid, sid } = event.extra_params
  const { reached_constant: reached } = event as { reached_constant?: number }
  const parts = [
    `${time.toISOString()} ${plain(code)}`,
    `account ${aid}${sid > 0 ? `, subscriber ${sid}` : ''}`,
    ...(after === undefined ? [] : [`${before ?? ''} to ${after ?? ''}`]),
    ...(reached === undefined ? [] : [`reached ${reached}`]),
    ...(about === undefined || about === '' ? [] : [plain(about)]),
  ]
  return parts.join('; ')
}

/** On one line. */
function plain(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ')
}
