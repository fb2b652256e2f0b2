//! Merging with the csv crate, in memory and without any proof: the results of a chunk go into a vector by their
//! number, then the records of the source are written with theirs, in the source's order.
//! join SOURCE PARTS_FOLDER OUTPUT RECORDS
use flate2::read::MultiGzDecoder;
use std::{env, error::Error, fs, fs::File};

fn main() -> Result<(), Box<dyn Error>> {
    let [source, folder, output, records] = <[String; 4]>::try_from(env::args().skip(1).collect::<Vec<_>>())
        .map_err(|_| "usage: join SOURCE PARTS_FOLDER OUTPUT RECORDS")?;
    let most: u64 = records.parse()?;
    let mut names: Vec<String> = fs::read_dir(&folder)?
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_, _>>()?;
    names.retain(|name| name.starts_with("part-"));
    names.sort();
    let mut reader = csv::ReaderBuilder::new().buffer_capacity(1 << 18).from_path(source)?;
    let mut writer = csv::WriterBuilder::new().buffer_capacity(1 << 18).from_path(output)?;
    let mut head = reader.byte_headers()?.clone();
    for added in ["status", "error_code", "error", "naics_code", "naics_title", "confidence"] {
        head.push_field(format!("prediction_{added}").as_bytes());
    }
    writer.write_byte_record(&head)?;
    let mut record = csv::ByteRecord::new();
    let mut results: Vec<Option<csv::ByteRecord>> = Vec::new();
    let mut number = 0u64;
    while reader.read_byte_record(&mut record)? {
        if number % most == 0 {
            results.clear();
            results.resize(most as usize, None);
            read_parts(&folder, &names, number / most + 1, number, &mut results)?;
        }
        let result = results[(number % most) as usize].as_ref().ok_or("a record has no result")?;
        number += 1;
        for field in result {
            record.push_field(field);
        }
        writer.write_byte_record(&record)?;
    }
    writer.flush()?;
    Ok(())
}

/// Puts the six added fields of each result of a chunk at the place of its record, which is counted from `before`.
fn read_parts(
    folder: &str,
    names: &[String],
    chunk: u64,
    before: u64,
    results: &mut [Option<csv::ByteRecord>],
) -> Result<(), Box<dyn Error>> {
    let start = format!("part-{chunk:06}-");
    for name in names.iter().filter(|name| name.starts_with(&start)) {
        let is_successful = name.contains("-successful-");
        let file = MultiGzDecoder::new(File::open(format!("{folder}/{name}"))?);
        let mut reader = csv::ReaderBuilder::new().buffer_capacity(1 << 18).from_reader(file);
        let mut row = csv::ByteRecord::new();
        while reader.read_byte_record(&mut row)? {
            let number: u64 = std::str::from_utf8(&row[0])?.parse()?;
            let fields: [&[u8]; 6] = if is_successful {
                [b"SUCCESSFUL", b"", b"", &row[4], &row[5], &row[6]]
            } else {
                [b"FAILED", b"SERVICE_FAILED", &row[4], b"", b"", b""]
            };
            results[(number - before - 1) as usize] = Some(csv::ByteRecord::from(&fields[..]));
        }
    }
    Ok(())
}
