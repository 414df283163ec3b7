use std::os::unix::fs::PermissionsExt;

use super::*;

fn project() -> (tempfile::TempDir, PathBuf) {
    let outside = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(outside.path()).unwrap().join("project");
    for folder in ["src", "target", "empty", ".git"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for file in ["src/a.rs", "target/large", ".git/HEAD", "../secret"] {
        fs::write(root.join(file), file).unwrap();
    }
    fs::write(root.join("run.sh"), "exit").unwrap();
    fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    (outside, root)
}

fn paths(tree: &Tree) -> Vec<&str> {
    tree.files.iter().map(|path| path.to_str().unwrap()).collect()
}

#[test]
fn a_copy_has_what_belongs_to_the_project_with_its_permissions() {
    let (outside, root) = project();
    let tree = Tree::of_project(&root, &[]).unwrap();
    assert_eq!(paths(&tree), ["run.sh", "src/a.rs"]);
    let copy = outside.path().join("copy");
    assert_eq!(tree.copy(&root, &copy).unwrap(), [""; 0].map(PathBuf::from));
    assert_eq!(fs::read_to_string(copy.join("src/a.rs")).unwrap(), "src/a.rs");
    assert!(copy.join("empty").is_dir());
    let mode = fs::metadata(copy.join("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[test]
fn no_link_of_a_copy_leads_out_of_it() {
    let (outside, root) = project();
    let links = [
        ("src/near", "a.rs"),
        ("src/up", "../run.sh"),
        ("nowhere", "src/later"),
        ("around", "../project/run.sh"),
        ("out", "../secret"),
        ("far", "/etc/hostname"),
        ("nowhere-out", "../later"),
    ];
    for (link, target) in links {
        symlink(target, root.join(link)).unwrap();
    }
    symlink(root.join("run.sh"), root.join("whole")).unwrap();
    let tree = Tree::of_project(&root, &[]).unwrap();
    let copy = outside.path().join("copy");
    let left_out = tree.copy(&root, &copy).unwrap();
    assert_eq!(left_out, ["far", "nowhere-out", "out"].map(PathBuf::from));
    for (link, target) in [("src/near", "a.rs"), ("src/up", "../run.sh"), ("nowhere", "src/later")]
    {
        assert_eq!(fs::read_link(copy.join(link)).unwrap(), Path::new(target));
    }
    for link in ["around", "whole"] {
        assert_eq!(fs::read_link(copy.join(link)).unwrap(), copy.join("run.sh"));
    }
}

#[test]
fn below_git_it_is_what_git_knows_or_would_take() {
    let (_outside, root) = project();
    fs::remove_dir_all(root.join(".git")).unwrap();
    fs::write(root.join(".gitignore"), "ignored/\n").unwrap();
    fs::create_dir(root.join("ignored")).unwrap();
    fs::write(root.join("ignored/large"), "").unwrap();
    fs::write(root.join("deleted"), "").unwrap();
    let git = |arguments: &[&str]| {
        assert!(Command::new("git").args(arguments).current_dir(&root).status().unwrap().success());
    };
    git(&["init", "--quiet", "."]);
    git(&["add", "deleted", "target"]);
    fs::remove_file(root.join("deleted")).unwrap();
    let tree = Tree::of_project(&root, &["run.sh".into()]).unwrap();
    assert_eq!(paths(&tree), [".gitignore", "run.sh", "src/a.rs", "target/large"]);
    // A project that git ignores as a whole is copied completely.
    let inner = root.join("ignored");
    fs::write(inner.join("hookwright.yaml"), "").unwrap();
    let tree = Tree::of_project(&inner, &["hookwright.yaml".into()]).unwrap();
    assert_eq!(paths(&tree), ["hookwright.yaml", "large"]);
}

#[test]
fn a_project_that_is_too_large_is_not_copied() {
    let (_outside, root) = project();
    fs::File::create(root.join("large")).unwrap().set_len(BYTES_MAX).unwrap();
    assert!(matches!(Tree::of_project(&root, &[]), Err(ProjectCopyError::TooManyBytes { .. })));
    fs::remove_file(root.join("large")).unwrap();
    for number in 0..FILES_MAX {
        fs::write(root.join(format!("{number}")), "").unwrap();
    }
    assert!(matches!(Tree::of_project(&root, &[]), Err(ProjectCopyError::TooManyFiles { .. })));
}
