/** Seals the secrets of the cards in the revisions of an account before they are stored. */
import {
  sealedTextsIn,
  sealGatewayFields,
  withKeptSecrets,
} from '../../catalog/sealing/payment-gateway.ts'
import type { Sealer } from '../../catalog/sealing/sealing.ts'
import { isEmpty } from '../../domain/fields.ts'
import type { Draft } from '../timeline/draft.ts'

const FIELD = 'payment_gateway'

export function sealCards(draft: Draft, sealer: Pick<Sealer, 'seal'>): void {
  const before = draft.before()
  const known = new Set(before.flatMap((revision) => sealedTextsIn(revision[FIELD])))
  const newest = before.at(-1)?.[FIELD]
  for (const { document, stored } of draft.changed()) {
    const value = document[FIELD]
    if (isEmpty(value)) continue
    const kept = withKeptSecrets(value, stored?.[FIELD] ?? newest)
    draft.change(document, { [FIELD]: sealGatewayFields(kept, known, sealer) })
  }
}
