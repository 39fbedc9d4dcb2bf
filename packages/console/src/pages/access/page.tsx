/** The page of users, clients, and the roles that actions need. */
import './access.css'
import { Tabs, tabOf } from '../../parts/tabs.tsx'
import { ACCESS } from '../../words/en/access.ts'
import { addWords, t } from '../../words/words.ts'
import { Clients } from './clients.tsx'
import { Permissions } from './permissions.tsx'
import { Users } from './users.tsx'

addWords(ACCESS)

const TABS = ['users', 'clients', 'permissions'] as const
const VIEWS = { users: Users, clients: Clients, permissions: Permissions } as const

export default function Page() {
  const View = VIEWS[tabOf(TABS)]
  return (
    <>
      <h1 tabIndex={-1}>{t('page.access')}</h1>
      <Tabs
        label={t('access.tabs')}
        tabs={TABS.map((name) => ({ name, title: t(`access.${name}`) }))}
        own={['after', 'user', 'of']}
      />
      <View />
    </>
  )
}
