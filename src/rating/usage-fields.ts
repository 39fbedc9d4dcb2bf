/** A usage to be rated, and its fields for rate matching. */
import type { SubscriberProfile } from '../domain/catalogue.ts'
import type { ServiceRequest } from '../domain/charge-request.ts'
import type { UsageFields } from './match/finder.ts'

/** A usage to be rated. */
export interface Usage {
  service: ServiceRequest
  fields: Readonly<Record<string, string>> | null
  atMs: number
  /** The node's clock: determines which cycles are open. */
  nowMs: number
}

/** The fields of a usage for rate matching. */
export class UsageOfSubscriber implements UsageFields {
  readonly usaget: string
  readonly ratingGroup: number
  readonly serviceIdentifier: string
  readonly calledNumber: string
  readonly plan: string
  readonly play: string
  readonly timeZone: string
  readonly #own: ServiceRequest['fields']
  readonly #common: Usage['fields']
  readonly #profile: SubscriberProfile

  constructor({ service, fields }: Usage, profile: SubscriberProfile, timeZone: string) {
    const { plan, play } = profile
    this.usaget = service.usaget
    this.ratingGroup = service.ratingGroup
    this.serviceIdentifier = service.serviceIdentifier
    this.calledNumber = service.calledNumber
    this.plan = plan
    this.play = play
    this.timeZone = timeZone
    this.#own = service.fields
    this.#common = fields
    this.#profile = profile
  }

  field(name: string): string | undefined {
    return this.#own?.[name] ?? this.#common?.[name]
  }

  subscriberField(name: string): string | undefined {
    const { facts } = this.#profile
    return Object.hasOwn(facts, name) ? String(facts[name]) : undefined
  }
}
