/** Records of the customer in tabs: lines, bills, audit. The tab is in the address. */
import { linkHere, location } from '../../frame/routes.ts'
import { t } from '../../words/words.ts'
import { Audit } from './audit.tsx'
import { Bills } from './bills.tsx'
import type { Customer } from './data.ts'
import { Lines } from './lines.tsx'

const TABS = ['lines', 'bills', 'audit'] as const

export function Records({ customer }: { readonly customer: Customer }) {
  const tabs = customer.sid === null ? TABS.slice(1) : TABS
  const tab = tabs.find((each) => each === location.value.query['tab']) ?? tabs[0] ?? 'bills'
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
      {tab === 'lines' && customer.sid !== null && <Lines sid={customer.sid} />}
      {tab === 'bills' && <Bills aid={customer.aid} />}
      {tab === 'audit' && <Audit customer={customer} />}
    </section>
  )
}
