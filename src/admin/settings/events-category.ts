/** Category `events`: rules that make events, and the receivers of notifications. */
import { checkEventSettings } from '../../catalog/settings/event-settings.ts'
import {
  mergeNotifications,
  receiverUrlsIn,
  redactNotifications,
} from '../../catalog/settings/notification-settings.ts'
import type { Sealer } from '../../catalog/settings/sealing.ts'
import { createAddressPolicy } from '../../external/address-policy.ts'
import type { Category } from './category.ts'
import { refuseNewAddresses } from './outgoing-addresses.ts'

export function eventsCategory(sealer: Sealer, privateRanges: readonly string[]): Category {
  const policy = createAddressPolicy(privateRanges)
  return {
    name: 'events',
    about:
      'Rules that make events: of balances (`balance`), money (`money`) and usage patterns ' +
      '(`fraud`); to whom the events are sent (`settings`; docs/EVENTS.md).',
    readRole: 'read',
    check: checkEventSettings,
    // Each connection is checked again. Rules for receivers that do not exist yet may be stored.
    verify: (value, stored) =>
      refuseNewAddresses(receiverUrlsIn(value), receiverUrlsIn(stored), policy, true),
    view: redactNotifications,
    merge: (value, stored) => mergeNotifications(stored, value, sealer),
  }
}
