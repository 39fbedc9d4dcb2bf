/** Records of the customer in tabs. */
import { Tabs, tabOf } from '../../parts/tabs.tsx'
import { t } from '../../words/words.ts'
import { Audit } from './audit.tsx'
import { Bills } from './bills.tsx'
import type { Customer } from './data.ts'
import { Lines } from './lines.tsx'
import { Subscribers } from './subscribers.tsx'

const OF_SUBSCRIBER = ['lines', 'bills', 'audit'] as const
const OF_ACCOUNT = ['subscribers', 'bills', 'audit'] as const

export function Records({ customer }: { readonly customer: Customer }) {
  const { aid, sid } = customer
  const names = sid === null ? OF_ACCOUNT : OF_SUBSCRIBER
  const tab = tabOf<(typeof names)[number]>(names)
  return (
    <section aria-labelledby="records">
      <h2 id="records" class="hidden">
        {t('records.title')}
      </h2>
      <Tabs
        label={t('records.title')}
        tabs={names.map((name) => ({ name, title: t(`records.${name}`) }))}
        own={['after', 'line']}
      />
      {tab === 'lines' && sid !== null && <Lines sid={sid} />}
      {tab === 'subscribers' && <Subscribers aid={aid} />}
      {tab === 'bills' && <Bills aid={aid} />}
      {tab === 'audit' && <Audit customer={customer} />}
    </section>
  )
}
