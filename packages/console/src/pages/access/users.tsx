/** Users who log in: created, changed, removed; a second factor that was lost is reset. */
import { useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { type Fields, type Identified, readNewest } from '../../api/records.ts'
import { location } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { textColumn, timeColumn } from '../../parts/columns.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { textIn } from '../../parts/differences.ts'
import { Field } from '../../parts/field.tsx'
import { FilterForm } from '../../parts/filter.tsx'
import { Form, useForm } from '../../parts/form.tsx'
import { List, useList } from '../../parts/list.tsx'
import { announce } from '../../parts/live-region.tsx'
import { isoOf } from '../../parts/paging.ts'
import { type Column, usePageKeys } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { knownRoles, RoleBoxes } from './roles.tsx'

type User = Fields & Identified

interface UserDialog {
  readonly what: 'create' | 'update' | 'delete' | 'reset'
  readonly user: User | null
}

const nameOf = (user: User | null) => textIn(user ?? {}, 'username')
const rolesOf = (user: User | null) => (user?.['roles'] ?? []) as readonly string[]

export function Users() {
  const { user: name } = location.value.query
  const reading = useList(`users ${name}`, (after, signal) =>
    readNewest<User>('users', { query: name ? { username: name } : {}, after }, signal),
  )
  const [dialog, setDialog] = useState<UserDialog | null>(null)
  const close = () => setDialog(null)
  usePageKeys()
  const done = (text: string) => {
    announce(text)
    close()
    reading.reload()
  }
  return (
    <>
      <FilterForm
        label={t('access.userFilter')}
        fields={[{ name: 'user', label: t('access.username') }]}
      />
      <div class="buttons">
        <ActionButton
          action="users/create"
          kind="main"
          onAct={() => setDialog({ what: 'create', user: null })}
        >
          {t('access.createUser')}
        </ActionButton>
      </div>
      <List
        reading={reading}
        height={6}
        empty={t('access.noUser')}
        caption={t('access.users')}
        columns={columnsOf((what, user) => setDialog({ what, user }))}
        keyOf={({ _id }) => _id.$id}
      />
      {dialog !== null && <RowDialog dialog={dialog} onDone={done} onClose={close} />}
    </>
  )
}

function columnsOf(ask: (what: UserDialog['what'], user: User) => void): Column<User>[] {
  const button = (action: string, what: UserDialog['what'], user: User) => (
    <ActionButton
      action={action}
      isBrief
      kind={what === 'update' ? 'plain' : 'danger'}
      onAct={() => ask(what, user)}
    >
      {t(`access.${what}User`)}
    </ActionButton>
  )
  return [
    textColumn('access.username', (user) => <span dir="auto">{nameOf(user)}</span>),
    textColumn('access.roles', (user) => rolesOf(user).join(', ')),
    timeColumn('access.lastLogin', (user) => isoOf(user['last_login']) || null),
    textColumn('access.password', (user) => {
      return t(user['must_change_password'] === true ? 'access.mustChange' : 'access.own')
    }),
    textColumn('access.changes', (user) => (
      <div class="row-buttons">
        {button('users/update', 'update', user)}
        {button('totp/reset', 'reset', user)}
        {button('users/delete', 'delete', user)}
      </div>
    )),
  ]
}

interface RowDialogProps {
  readonly dialog: UserDialog
  readonly onDone: (text: string) => void
  readonly onClose: () => void
}

function RowDialog({ dialog: { what, user }, onDone, onClose }: RowDialogProps) {
  const name = nameOf(user)
  if (user === null || what === 'create' || what === 'update') {
    return <UserForm user={user} onDone={onDone} onClose={onClose} />
  }
  const act = async () => {
    if (what === 'reset') await call('auth/totp/reset', { username: name })
    else await call('billapi/users/delete', { query: { _id: user._id.$id } })
    onDone(t(`access.${what}UserDone`, { name }))
  }
  return (
    <Confirm
      title={t(`access.${what}UserTitle`, { name })}
      about={t(`access.${what}UserAbout`)}
      act={t(`access.${what}User`)}
      action={what === 'reset' ? 'totp/reset' : 'users/delete'}
      onAct={act}
      onClose={onClose}
    />
  )
}

type UserFormProps = Omit<RowDialogProps, 'dialog'> & { readonly user: User | null }

function UserForm({ user, onDone, onClose }: UserFormProps) {
  const before = { username: nameOf(user), password: '', roles: rolesOf(user) }
  const form = useForm(before, async ({ username, password, roles }) => {
    if (user === null) {
      await call('billapi/users/create', { update: { username, password, roles } })
    } else {
      const update = { roles, ...(password !== '' && { password }) }
      await call('billapi/users/update', { query: { _id: user._id.$id }, update })
    }
    onDone(t('access.userSaved', { name: username }))
  })
  const { username, roles } = form.values.value
  const isNew = user === null
  return (
    <Dialog
      title={isNew ? t('access.createUser') : t('access.updateUserTitle', { name: username })}
      onClose={onClose}
    >
      <Form form={form} save={t('access.save')} action={isNew ? 'users/create' : 'users/update'}>
        {isNew && (
          <Field
            label={t('access.username')}
            hint={t('access.usernameHint')}
            {...form.field('username')}
            input={{ required: true, autocomplete: 'off', autofocus: true, maxLength: 254 }}
          />
        )}
        <Field
          label={t(isNew ? 'access.password' : 'access.newPassword')}
          hint={t(isNew ? 'access.passwordHint' : 'access.newPasswordHint')}
          {...form.field('password')}
          input={{ type: 'password', required: isNew, autocomplete: 'new-password' }}
        />
        <RoleBoxes
          roles={knownRoles(roles).filter((role) => role !== 'charge' || roles.includes(role))}
          chosen={roles}
          onChange={(chosen) => form.set('roles', chosen)}
          error={form.errorAt('roles')}
        />
      </Form>
    </Dialog>
  )
}
