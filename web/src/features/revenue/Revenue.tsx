import { Page } from '../../shared/ui/Page'
import { Empty } from '../../shared/ui/states'

export default function Revenue() {
  return (
    <Page title="Revenue">
      <Empty title="This screen is being built" />
    </Page>
  )
}
