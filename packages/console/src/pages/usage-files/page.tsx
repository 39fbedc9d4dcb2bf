/** Files of usage records with what was charged, and the queue of records that were rejected. */
import { location } from '../../frame/routes.ts'
import { Tabs, tabOf } from '../../parts/tabs.tsx'
import { USAGE_FILES } from '../../words/en/usage-files.ts'
import { addWords, t } from '../../words/words.ts'
import { Files } from './files.tsx'
import { Rejected } from './rejected.tsx'

addWords(USAGE_FILES)

const TABS = ['files', 'rejected'] as const

export default function Page() {
  return (
    <>
      <h1 tabIndex={-1}>{t('page.usagefiles')}</h1>
      <Tabs
        label={t('usagefiles.tabs')}
        tabs={TABS.map((name) => ({ name, title: t(`usagefiles.${name}`) }))}
        own={Object.keys(location.value.query)}
      />
      {tabOf(TABS) === 'files' ? <Files /> : <Rejected />}
    </>
  )
}
