/** Records of the customer in tabs; the tab is in the address. */
import { linkHere, location } from '../../frame/routes.ts'
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
  const tabs = sid === null ? OF_ACCOUNT : OF_SUBSCRIBER
  const tab = tabs.find((each) => each === location.value.query['tab']) ?? tabs[0]
  return (
    <section aria-labelledby="records">
      <h2 id="records" class="hidden">
        {t('records.title')}
      </h2>
      <nav class="tabs" aria-label={t('records.title')}>
        {tabs.map((each) => (
          <a
            key={each}
            href={linkHere({ tab: each, after: null, line: null })}
            aria-current={each === tab ? 'page' : undefined}
          >
            {t(`records.${each}`)}
          </a>
        ))}
      </nav>
      {tab === 'lines' && sid !== null && <Lines sid={sid} />}
      {tab === 'subscribers' && <Subscribers aid={aid} />}
      {tab === 'bills' && <Bills aid={aid} />}
      {tab === 'audit' && <Audit customer={customer} />}
    </section>
  )
}
